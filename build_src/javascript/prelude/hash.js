// Hashes: MD5 (RFC 1321), SHA-1 and SHA-2 (FIPS 180-4). Each takes bytes and gives bytes.

// The first bits after the point, as a 32-bit word.
const fraction = (value) => floor((value - floor(value)) * 2 ** 32) | 0;
const md5Shifts = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
const md5Sines = [];
for (let i = 1; i <= 64; i++) push(md5Sines, floor(abs(Math.sin(i)) * 2 ** 32) | 0);
const sha256Roots = [];
const sha256Start = [];
for (let n = 2; sha256Roots.length < 64; n++) {
    let divisor = 2;
    while (n % divisor !== 0) divisor++;
    if (divisor < n) continue;
    push(sha256Roots, fraction(Math.cbrt(n)));
    if (sha256Start.length < 8) push(sha256Start, fraction(sqrt(n)));
}
const sha1Start = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476, 0xc3d2e1f0 | 0];
const md5Start = arraySlice(sha1Start, 0, 4);
const turn = (word, by) => word << by | word >>> (32 - by);

// The message as words, with its closing bit and its length, handed over in blocks of 16.
function hashed(bytes, start, block, isBigEndian) {
    const size = typedArrayLength(bytes);
    const words = new PrimordialInt32Array((((size + 8) >> 6) + 1) * 16);
    const place = (i) => (isBigEndian ? 3 - i % 4 : i % 4) * 8;
    for (let i = 0; i < size; i++) words[i >> 2] |= bytes[i] << place(i);
    words[size >> 2] |= 0x80 << place(size);
    const count = words.length;
    words[count - (isBigEndian ? 1 : 2)] = size * 8 | 0;
    words[count - (isBigEndian ? 2 : 1)] = floor(size / 2 ** 29);
    const state = new PrimordialInt32Array(start);
    for (let at = 0; at < count; at += 16) block(words, at, state);
    const digest = new PrimordialUint8Array(start.length * 4);
    for (let i = 0; i < start.length * 4; i++) digest[i] = state[i >> 2] >> place(i);
    return digest;
}

function md5Block(words, at, state) {
    let a = state[0], b = state[1], c = state[2], d = state[3];
    for (let i = 0; i < 64; i++) {
        const round = i >> 4;
        const mixed = round === 0 ? b & c | ~b & d : round === 1 ? d & b | ~d & c : round === 2 ? b ^ c ^ d : c ^ (b | ~d);
        const index = round === 0 ? i : round === 1 ? 5 * i + 1 : round === 2 ? 3 * i + 5 : 7 * i;
        const sum = a + mixed + md5Sines[i] + words[at + index % 16] | 0;
        a = d;
        d = c;
        c = b;
        b = b + turn(sum, md5Shifts[round * 4 + i % 4]) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

function sha1Block(words, at, state) {
    const spread = new PrimordialInt32Array(80);
    for (let i = 0; i < 80; i++) {
        spread[i] = i < 16 ? words[at + i] : turn(spread[i - 3] ^ spread[i - 8] ^ spread[i - 14] ^ spread[i - 16], 1);
    }
    let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (let i = 0; i < 80; i++) {
        const mixed = i < 20 ? (b & c | ~b & d) + 0x5a827999 : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
            : i < 60 ? (b & c | b & d | c & d) + 0x8f1bbcdc : (b ^ c ^ d) + 0xca62c1d6;
        const next = turn(a, 5) + mixed + e + spread[i] | 0;
        e = d;
        d = c;
        c = turn(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

function sha256Block(words, at, state) {
    const spread = new PrimordialInt32Array(64);
    for (let i = 0; i < 64; i++) {
        const x = spread[i - 15], y = spread[i - 2];
        spread[i] = i < 16 ? words[at + i] : spread[i - 16] + (turn(x, 25) ^ turn(x, 14) ^ x >>> 3)
            + spread[i - 7] + (turn(y, 15) ^ turn(y, 13) ^ y >>> 10);
    }
    let a = state[0], b = state[1], c = state[2], d = state[3];
    let e = state[4], f = state[5], g = state[6], h = state[7];
    for (let i = 0; i < 64; i++) {
        const first = h + (turn(e, 26) ^ turn(e, 21) ^ turn(e, 7)) + (e & f ^ ~e & g) + sha256Roots[i] + spread[i];
        const second = (turn(a, 30) ^ turn(a, 19) ^ turn(a, 10)) + (a & b ^ a & c ^ b & c);
        h = g;
        g = f;
        f = e;
        e = d + first | 0;
        d = c;
        c = b;
        b = a;
        a = first + second | 0;
    }
    const round = [a, b, c, d, e, f, g, h];
    for (let i = 0; i < 8; i++) state[i] += round[i];
}

// The 64-bit form, on big integers: the fractions of the roots of the first 80 primes.
const mask64 = (1n << 64n) - 1n;
const sha512Roots = [];
const sha512Start = [];
const sha384Start = [];

// The whole part of the root, by halving.
function bigRoot(value, degree) {
    let low = 0n;
    let high = 1n << 80n;
    while (high - low > 1n) {
        const middle = low + high >> 1n;
        if (middle ** degree > value) high = middle;
        else low = middle;
    }
    return low;
}

for (let n = 2; sha512Roots.length < 80; n++) {
    let divisor = 2;
    while (n % divisor !== 0) divisor++;
    if (divisor < n) continue;
    push(sha512Roots, bigRoot(BigInt(n) << 192n, 3n) & mask64);
    if (sha512Roots.length > 16) continue;
    push(sha512Roots.length <= 8 ? sha512Start : sha384Start, bigRoot(BigInt(n) << 128n, 2n) & mask64);
}
const sha224Start = [];
for (let i = 0; i < 8; i++) push(sha224Start, toNumber(sha384Start[i] & 0xffffffffn) | 0);

const turn64 = (word, by) => (word >> by | word << 64n - by) & mask64;

function sha512Block(spread, state) {
    for (let i = 16; i < 80; i++) {
        const x = spread[i - 15], y = spread[i - 2];
        spread[i] = spread[i - 16] + (turn64(x, 1n) ^ turn64(x, 8n) ^ x >> 7n)
            + spread[i - 7] + (turn64(y, 19n) ^ turn64(y, 61n) ^ y >> 6n) & mask64;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 80; i++) {
        const first = h + (turn64(e, 14n) ^ turn64(e, 18n) ^ turn64(e, 41n)) + (e & f ^ (e ^ mask64) & g) + sha512Roots[i] + spread[i];
        const second = (turn64(a, 28n) ^ turn64(a, 34n) ^ turn64(a, 39n)) + (a & b ^ a & c ^ b & c);
        h = g;
        g = f;
        f = e;
        e = d + first & mask64;
        d = c;
        c = b;
        b = a;
        a = first + second & mask64;
    }
    const round = [a, b, c, d, e, f, g, h];
    for (let i = 0; i < 8; i++) state[i] = state[i] + round[i] & mask64;
}

function sha512(bytes, start, size) {
    const length = typedArrayLength(bytes);
    const padded = new PrimordialUint8Array(((length + 16 >> 7) + 1) * 128);
    for (let i = 0; i < length; i++) padded[i] = bytes[i];
    padded[length] = 0x80;
    const view = new PrimordialDataView(padded.buffer);
    view.setBigUint64(padded.length - 8, BigInt(length) * 8n);
    const state = arraySlice(start);
    for (let at = 0; at < padded.length; at += 128) {
        const spread = [];
        for (let i = 0; i < 16; i++) push(spread, view.getBigUint64(at + i * 8));
        sha512Block(spread, state);
    }
    const digest = new PrimordialUint8Array(64);
    const out = new PrimordialDataView(digest.buffer);
    for (let i = 0; i < 8; i++) out.setBigUint64(i * 8, state[i]);
    return digest.slice(0, size);
}

const hashes = {
    __proto__: null,
    md5: (bytes) => hashed(bytes, md5Start, md5Block, false),
    sha1: (bytes) => hashed(bytes, sha1Start, sha1Block, true),
    sha224: (bytes) => hashed(bytes, sha224Start, sha256Block, true).slice(0, 28),
    sha256: (bytes) => hashed(bytes, sha256Start, sha256Block, true),
    sha384: (bytes) => sha512(bytes, sha384Start, 48),
    sha512: (bytes) => sha512(bytes, sha512Start, 64),
};

// `require('js-md5')`, which HumanEval's programs use.
const md5 = (text) => textOfBytes(hashes.md5(bytesOf(text) ?? new PrimordialUint8Array(text)), 'hex');

function hashNamed(name) {
    const plain = replace(join(split(toLowerCase(toText(name)), '-'), ''), /^rsa/, '');
    if (hashes[plain] === undefined) throw new PrimordialError('Digest method not supported');
    return hashes[plain];
}

// What createHash and createHmac give: bytes are collected, `finish` makes the digest of all.
class Hash {
    #parts = [];

    #finish;

    constructor(finish) { this.#finish = finish; }

    update(data, encoding) {
        if (this.#parts === undefined) throw coded(new PrimordialError('Digest already called'), 'ERR_CRYPTO_HASH_FINALIZED');
        const bytes = bytesOf(data, encoding);
        if (bytes === undefined) {
            throw wrongArgument('"data"', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
        }
        push(this.#parts, new PrimordialUint8Array(bytes));
        return this;
    }

    copy() {
        const copy = new Hash(this.#finish);
        copy.#parts = arraySlice(this.#parts);
        return copy;
    }

    digest(encoding) {
        if (this.#parts === undefined) throw coded(new PrimordialError('Digest already called'), 'ERR_CRYPTO_HASH_FINALIZED');
        const digest = this.#finish(Buffer.concat(this.#parts));
        this.#parts = undefined;
        return encoding === undefined || encoding === 'buffer' ? asBuffer(digest) : textOfBytes(digest, encoding);
    }
}

function createHmac(name, secret) {
    const hash = hashNamed(name);
    const room = hash === hashes.sha384 || hash === hashes.sha512 ? 128 : 64;
    let key = bytesOf(secret);
    if (key.length > room) key = hash(key);
    const padded = (mask) => {
        const block = new PrimordialUint8Array(room);
        for (let i = 0; i < room; i++) block[i] = (key[i] ?? 0) ^ mask;
        return block;
    };
    return new Hash((bytes) => hash(Buffer.concat([padded(0x5c), hash(Buffer.concat([padded(0x36), bytes]))])));
}

// RFC 8018, 5.2.
function pbkdf2Sync(password, salt, iterations, size, name) {
    const keyed = (bytes) => createHmac(name, password).update(bytes).digest();
    const parts = [];
    for (let number = 1, made = 0; made < size; number++) {
        const counter = Buffer.alloc(4);
        counter.writeUInt32BE(number);
        let step = keyed(Buffer.concat([bytesOf(salt), counter]));
        const total = Buffer.from(step);
        for (let i = 1; i < iterations; i++) {
            step = keyed(step);
            for (let j = 0; j < total.length; j++) total[j] ^= step[j];
        }
        push(parts, total);
        made += total.length;
    }
    return Buffer.concat(parts, size);
}
