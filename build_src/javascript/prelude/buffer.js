// Buffer: text to bytes and back, and reading and writing them.

const encodingNames = {
    __proto__: null, 'utf8': 'utf8', 'utf-8': 'utf8', 'hex': 'hex', 'base64': 'base64', 'base64url': 'base64url',
    'latin1': 'latin1', 'binary': 'latin1', 'ascii': 'ascii', 'utf16le': 'utf16le', 'utf-16le': 'utf16le',
    'ucs2': 'utf16le', 'ucs-2': 'utf16le',
};
const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const base64Values = { __proto__: null, '-': 62, _: 63 };
for (let i = 0; i < 64; i++) base64Values[base64Digits[i]] = i;

function encodingNamed(name) {
    if (name === undefined || name === null) return 'utf8';
    const known = typeof name === 'string' ? encodingNames[toLowerCase(name)] : undefined;
    if (known === undefined) {
        throw coded(new PrimordialTypeError(`Unknown encoding: ${toText(name)}`), 'ERR_UNKNOWN_ENCODING');
    }
    return known;
}

function bytesOfText(text, name) {
    const encoding = encodingNamed(name);
    if (encoding === 'utf8') return encodeText(text);
    if (encoding === 'hex') return bytesOfHex(text);
    if (startsWith(encoding, 'base64')) return bytesOfBase64(text);
    const width = encoding === 'utf16le' ? 2 : 1;
    const bytes = new PrimordialUint8Array(text.length * width);
    for (let i = 0; i < text.length; i++) {
        const code = charCodeAt(text, i);
        bytes[i * width] = code;
        if (width === 2) bytes[i * 2 + 1] = code >> 8;
    }
    return bytes;
}

// As far as the text is hexadecimal.
function bytesOfHex(text) {
    const bytes = [];
    for (let i = 0; i + 1 < text.length; i += 2) {
        const pair = slice(text, i, i + 2);
        if (!patternTest(/^[0-9a-f]{2}$/i, pair)) break;
        push(bytes, parseInteger(pair, 16));
    }
    return new PrimordialUint8Array(bytes);
}

// Either alphabet; what belongs to neither is skipped, and "=" ends it.
function bytesOfBase64(text) {
    const bytes = [];
    let bits = 0;
    let held = 0;
    for (let i = 0; i < text.length && text[i] !== '='; i++) {
        const value = base64Values[text[i]];
        if (value === undefined) continue;
        held = (held << 6 | value) & 0xffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            push(bytes, held >> bits & 255);
        }
    }
    return new PrimordialUint8Array(bytes);
}

function textOfBytes(bytes, name) {
    const encoding = encodingNamed(name);
    if (encoding === 'utf8') return decodeText(bytes, false, true);
    if (startsWith(encoding, 'base64')) return base64Of(bytes, encoding === 'base64url');
    let text = '';
    const size = typedArrayLength(bytes);
    if (encoding === 'hex') {
        for (let i = 0; i < size; i++) text += padStart(numberToText(bytes[i], 16), 2, '0');
    } else if (encoding === 'utf16le') {
        for (let i = 0; i + 1 < size; i += 2) text += fromCharCode(bytes[i] | bytes[i + 1] << 8);
    } else {
        const kept = encoding === 'ascii' ? 127 : 255;
        for (let i = 0; i < size; i++) text += fromCharCode(bytes[i] & kept);
    }
    return text;
}

function base64Of(bytes, forUrls) {
    let text = '';
    const size = typedArrayLength(bytes);
    for (let i = 0; i < size; i += 3) {
        const group = bytes[i] << 16 | (bytes[i + 1] ?? 0) << 8 | (bytes[i + 2] ?? 0);
        const digits = min(size - i, 3) + 1;
        for (let j = 0; j < 4; j++) {
            if (j < digits) text += base64Digits[group >> (18 - 6 * j) & 63];
            else if (!forUrls) text += '=';
        }
    }
    if (!forUrls) return text;
    return join(split(join(split(text, '+'), '-'), '/'), '_');
}

function wrongArgument(name, kinds, value) {
    return coded(new PrimordialTypeError(
        `The ${name} argument must be ${kinds}. Received ${received(value)}`), 'ERR_INVALID_ARG_TYPE');
}

// The bytes of text, of a typed array or of a list of numbers. A buffer's memory is shared.
function bytesOf(value, encoding) {
    if (typeof value === 'string') return bytesOfText(value, encoding);
    if (isArrayBuffer(value)) return new PrimordialUint8Array(value);
    if (isTypedArray(value) || isDataView(value)) {
        return new PrimordialUint8Array(value.buffer, value.byteOffset, value.byteLength);
    }
    return undefined;
}

class Buffer extends PrimordialUint8Array {
    static poolSize = 8192;

    static from(value, encoding, length) {
        if (isArrayBuffer(value)) return new Buffer(value, encoding, length);
        if (typeof value === 'string') return asBuffer(bytesOfText(value, encoding));
        if (isObject(value)) {
            if (value.type === 'Buffer' && isArray(value.data)) return new Buffer(value.data);
            if (isArray(value) || isTypedArray(value) || value.length !== undefined) return new Buffer(arrayFrom(value));
            const primitive = value.valueOf();
            if (primitive !== value) return Buffer.from(primitive, encoding, length);
        }
        throw wrongArgument('first', 'of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object', value);
    }

    static of(...values) { return new Buffer(values); }

    static alloc(size, fill, encoding) {
        if (typeof size !== 'number') throw wrongArgument('"size"', 'of type number', size);
        const made = new Buffer(size);
        return fill === undefined ? made : made.fill(fill, encoding);
    }

    static allocUnsafe(size) { return Buffer.alloc(size); }

    static allocUnsafeSlow(size) { return Buffer.alloc(size); }

    static byteLength(value, encoding) {
        const bytes = bytesOf(value, encoding);
        if (bytes === undefined) throw wrongArgument('"string"', 'of type string or an instance of Buffer or ArrayBuffer', value);
        return bytes.length;
    }

    static concat(list, size) {
        if (!isArray(list)) throw wrongArgument('"list"', 'an instance of Array', list);
        let total = 0;
        for (let i = 0; i < list.length; i++) total += list[i].length;
        const joined = new Buffer(size ?? total);
        let at = 0;
        for (let i = 0; i < list.length; i++) {
            for (let j = 0; j < list[i].length && at < joined.length; j++) joined[at++] = list[i][j];
        }
        return joined;
    }

    static compare(a, b) {
        for (let i = 0; i < min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
        return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
    }

    static isBuffer(value) { return instanceOf(Buffer, value); }

    static isEncoding(name) { return typeof name === 'string' && encodingNames[toLowerCase(name)] !== undefined; }

    toString(encoding, from = 0, to = this.length) { return textOfBytes(super.subarray(from, to), encoding); }

    toLocaleString(encoding, from, to) { return this.toString(encoding, from, to); }

    toJSON() { return { type: 'Buffer', data: arrayFrom(this) }; }

    equals(other) { return Buffer.compare(this, other) === 0; }

    compare(other) { return Buffer.compare(this, other); }

    slice(from, to) { return this.subarray(from, to); } // Node's shares the memory

    write(text, ...rest) {
        const encoding = typeof rest[rest.length - 1] === 'string' ? rest.pop() : 'utf8';
        const at = rest[0] ?? 0;
        const bytes = bytesOfText(text, encoding);
        const size = min(bytes.length, rest[1] ?? Infinity, this.length - at);
        for (let i = 0; i < size; i++) this[at + i] = bytes[i];
        return size;
    }

    copy(target, at = 0, from = 0, to = this.length) {
        const size = max(0, min(to - from, target.length - at));
        const bytes = super.slice(from, from + size);
        for (let i = 0; i < size; i++) target[at + i] = bytes[i];
        return size;
    }

    fill(value, ...rest) {
        const encoding = typeof rest[rest.length - 1] === 'string' ? rest.pop() : 'utf8';
        const bytes = typeof value === 'number' ? [value] : bytesOf(value, encoding);
        const to = rest[1] ?? this.length;
        for (let i = rest[0] ?? 0, j = 0; i < to; i++, j++) this[i] = bytes[j % bytes.length];
        return this;
    }

    indexOf(value, from = 0, encoding) {
        if (typeof value === 'number') return super.indexOf(value & 255, from);
        const wanted = bytesOf(value, encoding);
        for (let i = from < 0 ? max(0, this.length + from) : from; i + wanted.length <= this.length; i++) {
            let same = 0;
            while (same < wanted.length && this[i + same] === wanted[same]) same++;
            if (same === wanted.length) return i;
        }
        return -1;
    }

    includes(value, from, encoding) { return this.indexOf(value, from, encoding) >= 0; }

    [customInspect](left, options) {
        const shown = min(50, this.length);
        let text = `<${constructorName(this) ?? 'Buffer'}`;
        if (shown === 0) text += ' ';
        for (let i = 0; i < shown; i++) text += ` ${padStart(numberToText(this[i], 16), 2, '0')}`;
        const rest = this.length - shown;
        return rest > 0 ? `${text} ... ${rest} more byte${plural(rest)}>` : `${text}>`;
    }
}

const asBuffer = (bytes) => new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);

// readInt16LE and its like, in both byte orders and under both of Node's spellings.
for (const [kind, view, size] of [
    ['UInt8', 'Uint8', 1], ['Int8', 'Int8', 1], ['UInt16', 'Uint16', 2], ['Int16', 'Int16', 2], ['UInt32', 'Uint32', 4],
    ['Int32', 'Int32', 4], ['BigUInt64', 'BigUint64', 8], ['BigInt64', 'BigInt64', 8], ['Float', 'Float32', 4], ['Double', 'Float64', 8],
]) {
    const get = uncurry(DataView.prototype[`get${view}`]);
    const set = uncurry(DataView.prototype[`set${view}`]);
    for (const order of size === 1 ? [''] : ['LE', 'BE']) {
        const viewOf = (bytes, at) => {
            if (at >= 0 && at + size <= bytes.length) return new PrimordialDataView(bytes.buffer, bytes.byteOffset);
            throw coded(new PrimordialRangeError(bytes.length < size ? 'Attempt to access memory outside buffer bounds'
                : `The value of "offset" is out of range. It must be >= 0 and <= ${bytes.length - size}. Received ${at}`),
            bytes.length < size ? 'ERR_BUFFER_OUT_OF_BOUNDS' : 'ERR_OUT_OF_RANGE');
        };
        const read = function (at = 0) { return get(viewOf(this, at), at, order === 'LE'); };
        const put = function (value, at = 0) {
            set(viewOf(this, at), at, value, order === 'LE');
            return at + size;
        };
        for (const name of [kind, join(split(kind, 'UInt'), 'Uint')]) {
            hide(Buffer.prototype, `read${name}${order}`, read);
            hide(Buffer.prototype, `write${name}${order}`, put);
        }
    }
}
