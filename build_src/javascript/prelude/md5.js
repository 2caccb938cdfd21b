// MD5 (RFC 1321): `require('js-md5')`, which HumanEval's programs use.

const md5Shifts = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
const md5Sines = [];
for (let i = 1; i <= 64; i++) push(md5Sines, floor(abs(Math.sin(i)) * 2 ** 32));

function md5(text) {
    const bytes = typeof text === 'string' ? encodeText(text) : new PrimordialUint8Array(text);
    const words = [];
    for (let i = 0; i < (((bytes.length + 8) >> 6) + 1) * 16; i++) push(words, 0);
    for (let i = 0; i < bytes.length; i++) words[i >> 2] |= bytes[i] << (i % 4 * 8);
    words[bytes.length >> 2] |= 0x80 << (bytes.length % 4 * 8);
    words[words.length - 2] = bytes.length * 8 | 0;
    words[words.length - 1] = floor(bytes.length / 2 ** 29);
    const state = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476];
    for (let block = 0; block < words.length; block += 16) md5Block(words, block, state);
    let digest = '';
    for (let i = 0; i < 16; i++) {
        digest += padStart(numberToText(state[i >> 2] >> (i % 4 * 8) & 255, 16), 2, '0');
    }
    return digest;
}

function md5Block(words, block, state) {
    let [a, b, c, d] = state;
    for (let i = 0; i < 64; i++) {
        const round = i >> 4;
        const mixed = round === 0 ? b & c | ~b & d : round === 1 ? d & b | ~d & c : round === 2 ? b ^ c ^ d : c ^ (b | ~d);
        const index = round === 0 ? i : round === 1 ? 5 * i + 1 : round === 2 ? 3 * i + 5 : 7 * i;
        const sum = a + mixed + md5Sines[i] + words[block + index % 16] | 0;
        const by = md5Shifts[round * 4 + i % 4];
        a = d;
        d = c;
        c = b;
        b = b + (sum << by | sum >>> 32 - by) | 0;
    }
    state[0] = state[0] + a | 0;
    state[1] = state[1] + b | 0;
    state[2] = state[2] + c | 0;
    state[3] = state[3] + d | 0;
}
