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
        let plain = at;
        while (plain < bytes.length && plain - at < 8192 && bytes[plain] < 0x80) plain++;
        if (plain > at) {
            text += apply(fromCharCode, undefined, bytes.subarray(at, plain));
            at = plain;
            continue;
        }
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

const decoderNames = { __proto__: null, 'utf-8': 'utf8', 'utf8': 'utf8', 'utf-16le': 'utf16le', 'utf-16': 'utf16le', 'latin1': 'latin1',
    'iso-8859-1': 'latin1', 'ascii': 'latin1', 'us-ascii': 'latin1', 'windows-1252': 'latin1' };

class TextDecoder {
    #fatal;

    #keepMark;

    #encoding;

    #left; // bytes that wait for the rest of their letter

    constructor(encoding = 'utf-8', options = {}) {
        this.#encoding = decoderNames[toLowerCase(toText(encoding))];
        if (this.#encoding === undefined) {
            throw coded(new RangeError(`The "${encoding}" encoding is not supported`), 'ERR_ENCODING_NOT_SUPPORTED');
        }
        this.#fatal = Boolean(options.fatal);
        this.#keepMark = Boolean(options.ignoreBOM);
    }

    get encoding() { return { utf8: 'utf-8', utf16le: 'utf-16le', latin1: 'windows-1252' }[this.#encoding]; }

    get fatal() { return this.#fatal; }

    get ignoreBOM() { return this.#keepMark; }

    decode(source, options) {
        let bytes = source === undefined ? new PrimordialUint8Array(0) : bytesOf(source);
        if (bytes === undefined || typeof source === 'string') {
            throw wrongArgument('"list"', 'an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView', source);
        }
        if (this.#encoding !== 'utf8') return textOfBytes(bytes, this.#encoding);
        if (this.#left !== undefined) bytes = Buffer.concat([this.#left, bytes]);
        this.#left = undefined;
        if (options?.stream) {
            const end = wholeLetters(bytes);
            this.#left = bytes.slice(end);
            bytes = bytes.subarray(0, end);
        }
        return decodeText(bytes, this.#fatal, this.#keepMark);
    }
}

// Where the last letter starts that has not all its bytes; else the end.
function wholeLetters(bytes) {
    for (let i = bytes.length - 1; i >= 0 && i >= bytes.length - 3; i--) {
        if (bytes[i] < 0x80) break;
        if (bytes[i] >= 0xc0) return bytes.length - i < (bytes[i] >= 0xf0 ? 4 : bytes[i] >= 0xe0 ? 3 : 2) ? i : bytes.length;
    }
    return bytes.length;
}

function uncloneable(value) {
    const shown = typeof value === 'function' ? functionText(value) : isObject(value) ? `#<${constructorName(value)}>` : symbolText(value);
    return new DOMException(`${shown} could not be cloned.`, 'DataCloneError');
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
    const names = getOwnPropertyNames(made); // also those that a program does not export
    const whole = { __proto__: null };
    for (let i = 0; i < names.length; i++) whole[names[i]] = made[names[i]];
    whole.default = made.default ?? made;
    return whole;
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
for (const [name, file] of [['URL', 'url'], ['URLSearchParams', 'url'], ['Intl', 'intl'], ['Event', 'web'], ['CustomEvent', 'web'],
    ['EventTarget', 'web'], ['AbortController', 'web'], ['AbortSignal', 'web']]) {
    defineProperty(globalThis, name, {
        get() {
            hide(globalThis, name, lazy(file)[name]);
            return lazy(file)[name];
        },
        set(value) { hide(globalThis, name, value); },
        configurable: true,
    });
}

// As methods, so that they look like those they replace.
const localised = {
    Number: { toLocaleString(locales, options) { return new (lazy('intl').NumberFormat)(locales, options).format(toNumber(this)); } },
    BigInt: { toLocaleString(locales, options) { return new (lazy('intl').NumberFormat)(locales, options).format(BigInt(this)); } },
    Date: {
        toLocaleString(locales, options) { return lazy('intl').textOfDate(this, locales, options, 'any'); },
        toLocaleDateString(locales, options) { return lazy('intl').textOfDate(this, locales, options, 'date'); },
        toLocaleTimeString(locales, options) { return lazy('intl').textOfDate(this, locales, options, 'time'); },
    },
    String: { localeCompare(other, locales, options) { return lazy('intl').collated(toText(this), toText(other), options); } },
};
for (const name of objectKeys(localised)) {
    for (const method of objectKeys(localised[name])) hide(globalThis[name].prototype, method, localised[name][method]);
}

const zoned = (original) => function () {
    const text = original(this);
    return endsWith(text, 'GMT+0000') ? `${text} (Coordinated Universal Time)` : text;
};
for (const name of ['toString', 'toTimeString']) {
    hide(Date.prototype, name, zoned(uncurry(Date.prototype[name])));
    defineProperty(Date.prototype[name], 'name', { value: name });
}
defineProperty(globalThis, 'crypto', { get: () => require('crypto').webcrypto, configurable: true, enumerable: false });

// Marks of performance.mark, by name.
const marks = new PrimordialMap();
hide(performance, 'mark', (name) => {
    mapSet(marks, toText(name), now());
    return { name: toText(name), entryType: 'mark', startTime: now(), duration: 0 };
});
hide(performance, 'measure', (name, from, to) => {
    const startTime = mapGet(marks, from) ?? 0;
    return { name, entryType: 'measure', startTime, duration: (mapGet(marks, to) ?? now()) - startTime };
});
hide(performance, 'clearMarks', () => {});
hide(performance, 'clearMeasures', () => {});

// Node's text of a stack starts with what the error says.
const stackOf = getOwnPropertyDescriptor(PrimordialError.prototype, 'stack');
const readStack = uncurry(stackOf.get);
const withHeader = (error, stack) => {
    if (typeof stack !== 'string' || (stack !== '' && !startsWith(stack, '    at '))) return stack;
    return `${errorHeader(error)}\n${endsWith(stack, '\n') ? slice(stack, 0, -1) : stack}`;
};
defineProperty(PrimordialError.prototype, 'stack', { ...stackOf, get() { return withHeader(this, readStack(this)); } });
const { captureStackTrace } = PrimordialError;
hide(PrimordialError, 'captureStackTrace', (object, above) => {
    captureStackTrace(object, above);
    if (!hasOwn(object, 'stack') || typeof object.stack !== 'string') return;
    hide(object, 'stack', withHeader(object, object.stack));
});
