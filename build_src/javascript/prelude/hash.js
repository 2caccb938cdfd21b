// Hashes: MD5 (RFC 1321), SHA-1 and SHA-256 (FIPS 180-4). Each takes bytes and gives bytes.

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

const hashes = {
    __proto__: null,
    md5: (bytes) => hashed(bytes, md5Start, md5Block, false),
    sha1: (bytes) => hashed(bytes, sha1Start, sha1Block, true),
    sha256: (bytes) => hashed(bytes, sha256Start, sha256Block, true),
};

// `require('js-md5')`, which HumanEval's programs use.
const md5 = (text) => textOfBytes(hashes.md5(bytesOf(text) ?? new PrimordialUint8Array(text)), 'hex');

function hashNamed(name) {
    const plain = join(split(toLowerCase(toText(name)), '-'), '');
    if (hashes[plain] === undefined) throw coded(new PrimordialError('Digest method not supported'), 'ERR_CRYPTO_INVALID_DIGEST');
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

    digest(encoding) {
        if (this.#parts === undefined) throw coded(new PrimordialError('Digest already called'), 'ERR_CRYPTO_HASH_FINALIZED');
        const digest = this.#finish(Buffer.concat(this.#parts));
        this.#parts = undefined;
        return encoding === undefined || encoding === 'buffer' ? asBuffer(digest) : textOfBytes(digest, encoding);
    }
}

function createHmac(name, secret) {
    const hash = hashNamed(name);
    let key = bytesOf(secret);
    if (key.length > 64) key = hash(key);
    const padded = (mask) => {
        const block = new PrimordialUint8Array(64);
        for (let i = 0; i < 64; i++) block[i] = (key[i] ?? 0) ^ mask;
        return block;
    };
    return new Hash((bytes) => hash(Buffer.concat([padded(0x5c), hash(Buffer.concat([padded(0x36), bytes]))])));
}
