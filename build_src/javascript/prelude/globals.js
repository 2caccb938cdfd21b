// Globals of Node that QuickJS lacks.

function encodeText(text) {
    const bytes = [];
    for (let i = 0; i < text.length; i++) {
        let code = charCodeAt(text, i);
        if (code >= 0xd800 && code <= 0xdfff) {
            const next = charCodeAt(text, i + 1);
            if (code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) {
                code = 0x10000 + ((code - 0xd800) << 10) + (next - 0xdc00);
                i++;
            } else {
                code = 0xfffd;
            }
        }
        if (code < 0x80) {
            push(bytes, code);
        } else if (code < 0x800) {
            push(bytes, 0xc0 | code >> 6, 0x80 | code & 63);
        } else if (code < 0x10000) {
            push(bytes, 0xe0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63);
        } else {
            push(bytes, 0xf0 | code >> 18, 0x80 | code >> 12 & 63, 0x80 | code >> 6 & 63, 0x80 | code & 63);
        }
    }
    return new PrimordialUint8Array(bytes);
}

// The code point at `at` and the bytes it takes; a malformed sequence is [0xfffd, its length].
function decodeAt(bytes, at) {
    const lead = bytes[at];
    if (lead < 0x80) return [lead, 1];
    const extra = lead >= 0xf0 && lead < 0xf5 ? 3 : lead >= 0xe0 && lead < 0xf0 ? 2 : lead >= 0xc2 && lead < 0xe0 ? 1 : 0;
    if (extra === 0) return [0xfffd, 1];
    let code = lead & (0x3f >> extra);
    for (let i = 1; i <= extra; i++) {
        const next = bytes[at + i];
        const lowest = i > 1 ? 0x80 : lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
        const highest = i > 1 ? 0xbf : lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
        if (!(next >= lowest && next <= highest)) return [0xfffd, i];
        code = code << 6 | next & 63;
    }
    return [code, extra + 1];
}

const fromCodePoint = String.fromCodePoint;

function decodeText(source, fatal = false, keepMark = false) {
    if (source === undefined) return '';
    const bytes = isArrayBuffer(source)
        ? new PrimordialUint8Array(source)
        : new PrimordialUint8Array(source.buffer, source.byteOffset, source.byteLength);
    let text = '';
    let at = 0;
    if (!keepMark && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) at = 3;
    while (at < bytes.length) {
        const [code, size] = decodeAt(bytes, at);
        if (fatal && code === 0xfffd && bytes[at] !== 0xef) {
            throw coded(new PrimordialTypeError('The encoded data was not valid for encoding utf-8'), 'ERR_ENCODING_INVALID_ENCODED_DATA');
        }
        text += fromCodePoint(code);
        at += size;
    }
    return text;
}

class TextEncoder {
    get encoding() { return 'utf-8'; }

    encode(text = '') { return encodeText(toText(text)); }

    encodeInto(text, target) {
        const bytes = encodeText(text);
        const written = min(bytes.length, target.length);
        for (let i = 0; i < written; i++) target[i] = bytes[i];
        return { read: text.length, written };
    }
}

class TextDecoder {
    #fatal;

    #keepMark;

    constructor(encoding = 'utf-8', options = {}) {
        if (!patternTest(/^utf-?8$/i, encoding)) {
            throw coded(new RangeError(`The "${encoding}" encoding is not supported`), 'ERR_ENCODING_NOT_SUPPORTED');
        }
        this.#fatal = Boolean(options.fatal);
        this.#keepMark = Boolean(options.ignoreBOM);
    }

    get encoding() { return 'utf-8'; }

    decode(bytes) { return decodeText(bytes, this.#fatal, this.#keepMark); }
}

function uncloneable(value) {
    const error = new PrimordialError(`${typeof value === 'symbol' ? symbolText(value) : inspect(value)} could not be cloned.`);
    hide(error, 'name', 'DataCloneError');
    return error;
}

function structuredClone(value) {
    return cloned(value, new PrimordialMap());
}

function cloned(value, seen) {
    if (typeof value === 'function' || typeof value === 'symbol') throw uncloneable(value);
    if (!isObject(value)) return value;
    if (mapHas(seen, value)) return mapGet(seen, value);
    const copy = emptyCopy(value);
    mapSet(seen, value, copy);
    if (isMap(value)) {
        mapForEach(value, (item, key) => mapSet(copy, cloned(key, seen), cloned(item, seen)));
    } else if (isSet(value)) {
        setForEach(value, (item) => setAdd(copy, cloned(item, seen)));
    } else if (isError(value)) {
        if (hasOwn(value, 'cause')) hide(copy, 'cause', cloned(value.cause, seen));
    } else if (isArray(value) || isPlain(value)) {
        const keys = objectKeys(value);
        for (let i = 0; i < keys.length; i++) copy[keys[i]] = cloned(value[keys[i]], seen);
    }
    return copy;
}

const isPlain = (value) => !isDate(value) && !isRegExp(value) && !isTypedArray(value) &&
    !isArrayBuffer(value) && boxed(value) === undefined;

function emptyCopy(value) {
    if (isArray(value)) {
        const copy = [];
        copy.length = value.length;
        return copy;
    }
    if (isMap(value)) return new PrimordialMap();
    if (isSet(value)) return new PrimordialSet();
    if (isDate(value)) return new Date(dateTime(value));
    if (isRegExp(value)) return new RegExp(value.source, value.flags);
    if (isError(value)) {
        const known = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
        const copy = new (known[value.name] ?? PrimordialError)(value.message);
        hide(copy, 'stack', value.stack);
        return copy;
    }
    if (isTypedArray(value)) return new (globalThis[typedArrayName(value)])(value);
    if (isArrayBuffer(value)) return value.slice(0);
    if (isPromise(value) || isWeakMap(value) || isWeakSet(value)) throw uncloneable(value);
    const inner = boxed(value);
    return inner === undefined ? {} : Object(inner[1]);
}

const moduleObject = { exports: {}, id: '.', filename: '/main.js', loaded: false, children: [], paths: [] };
require.main = moduleObject;
require.cache = {};
require.resolve = (name) => name;
// What `import(name)` and `import.meta` are rewritten to.
hide(require, 'import', async (name) => {
    const made = require(toText(name));
    return { __proto__: null, ...made, default: made.default ?? made };
});
hide(require, 'meta', { dirname: '/', filename: '/main.js', url: 'file:///main.js' });

const globals = {
    console: makeConsole(),
    process,
    require,
    module: moduleObject,
    exports: moduleObject.exports,
    global: globalThis,
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval: clearTimeout,
    setImmediate,
    clearImmediate: clearTimeout,
    structuredClone,
    TextEncoder,
    TextDecoder,
    Buffer,
    __filename: '/main.js',
    __dirname: '/',
};
for (const name of objectKeys(globals)) hide(globalThis, name, globals[name]);
