// The tests of a program that sends hostile messages. SEED is filled in.
const reached = [];
const ungiven = () => { reached.push('a function that was not given'); };
Object.defineProperty(globalThis, 'ungivenToo', { value: ungiven, configurable: true });
class Own {
  #hidden = ungiven;
  a = 1;
  got = [1];
  method() { return [this.a, typeof this.#hidden]; }
  static make(x) { return [x, x]; }
}
// What no message may bring: builtins that are no constructors of data.
const kept = (...values) => {
  for (const x of values) if ([Function, eval, globalThis, Math.max, console.log, Reflect, Promise.prototype.then].includes(x)) reached.push(`a builtin ${String(x)}`);
  return values[0];
};
const given = [
  kept, function plain(x) { return { self: this, x }; }, Own, new Own(), async (x) => [x], () => { throw new RangeError('mine'); },
  [1, [2], , 3], { a: { b: 1 } }, new Map([[1, [2]]]), new Set(['a']), new Date(0), /a(b)/g, new TypeError('given'), new Uint8Array(3),
  new ArrayBuffer(2), new Number(3), [1, 2, 3].values(), (function* () { yield [1]; yield 2; })(), Promise.resolve([1]), new Proxy({ a: 1 }, {}),
  Symbol('own'), new WeakMap(), jest.fn(), Object.freeze({ c: [1] }), new Own().method, Object.create({ inherited: 1 }), 3n, -0, 'text', undefined,
];
const objects = given.filter((each) => Object(each) === each);
const stable = objects.filter((each) => jest.isMockFunction(each));
const known = ['f', 'jest', 'vi', 'ungivenToo', 'assert', 'globalThis', 'global'];
const held = (object) => Reflect.ownKeys(object).flatMap((key) => {
  const own = Object.getOwnPropertyDescriptor(object, key);
  return [key, own.value, own.get, own.set, Object.isExtensible(object)];
});
const owners = [...stable];
const names = new Map(stable.map((each) => [each, 'jest.fn()']));
for (const name of Object.getOwnPropertyNames(globalThis)) {
  const value = known.includes(name) ? undefined : Object.getOwnPropertyDescriptor(globalThis, name).value;
  for (const [each, text] of [[value, name], [value?.prototype, `${name}.prototype`]]) if (Object(each) === each && !names.has(each)) {
    owners.push(each);
    names.set(each, text);
  }
}
const call = f;
// Errors of the language: of what the tests do with an object that is a proxy, or converts oddly.
const allowed = /^the other side sent what has no meaning$|^proxy: |^toPrimitive$|^Class constructor|^must be called with new$|^not a |^Maximum call stack/;
const byLanguage = /^ +at (?:primitive|deepEqual) \(node:internal|^ +at [^\n]*native\)\n(?: +at [^\n]*native\)\n)* +at (?:primitive|deepEqual|performed) /;
const stackOf = Object.getOwnPropertyDescriptor(Error.prototype, 'stack').get;
const ownOf = (error, key) => Object.getOwnPropertyDescriptor(error, key)?.value;
function check(error) {
  const stack = Object(error) === error ? stackOf.call(error) : undefined;
  const frames = typeof stack === 'string' ? stack.slice(stack.indexOf('    at ')).split('test.js')[0] : '';
  if (!frames.includes('node:internal') || /^ +at (?:nonsense|emptyObject) /.test(frames) || byLanguage.test(frames)) return;
  if (!allowed.test(ownOf(error, 'message')) && ownOf(error, 'name') !== 'AssertionError') throw new Error(`FAULT ${ownOf(error, 'message')} ${stack}`);
}
function attempt(use) {
  try { return use(); } catch (error) { check(error); }
}
const PROBE = 918273645.125; // no message has it
const fixed = (x) => owners.includes(x);
const uses = [
  (x) => `${x}`, (x) => x + 1, (x) => +x, (x) => x < 3, (x) => { const [a, b] = x; return [a, b]; }, (x) => x.value, (x) => x(1, given[0]), (x) => x[0],
  (x) => JSON.stringify(x), (x) => x instanceof Own, (x) => given[3] instanceof x, (x) => x.next(), (x) => x.then((y) => y, () => 0), (x) => { if (!fixed(x)) x.a = given[7]; },
  (x) => Object.keys(x), (x) => x.get(1), (x) => x.length, (x) => x.call(given[3], 1), (x) => typeof x, (x) => { for (const y in x) return y; },
  (x) => require('util').inspect(x), (x) => assert.throws(x, Error), (x) => expect(x).toEqual(given[7]), (x) => x.has(2), (x) => x.map((y) => y),
  (x) => new x(given[1]), (x) => (class extends x {}), (x) => { if (!fixed(x)) x.push(1); }, (x) => 'a' in x, (x) => fixed(x) || delete x.a,
];
// What the host hears. The program's own proxies may answer nonsense while it is told.
const tell = (text) => [1, 2, 3, 4, 5].some(() => attempt(() => call(text)) === true);
const { isDeepStrictEqual } = require('util');
function compare(x, n) {
  const y = [PROBE, 'probe', [PROBE], { a: PROBE }][n % 4];
  const same = [
    () => x === y, () => x == y && Object(y) !== y, () => isDeepStrictEqual(x, y), () => isDeepStrictEqual([y], [x]), () => isDeepStrictEqual({ a: x }, { a: y }),
    () => { if (n % 16 < 4) assert.deepEqual([x], [y]); return n % 16 < 4; }, () => { if (n % 16 > 12) expect(x).toEqual(y); return n % 16 > 12; },
  ];
  for (const each of same) if (attempt(each) === true) throw new Error(`FAULT equals ${y}: ${each}`);
}
require('util').inspect({});
const before = owners.map(held);
for (let n = 0; n < 40; n++) {
  if (n % 20 === 0) await null;
  const value = attempt(() => call(given[n % given.length], given[(n * 7 + SEED) % given.length]));
  if (reached.length > 0) throw new Error(`FAULT reached ${reached}`);
  for (let k = 0; k < 3; k++) attempt(() => uses[(n * 3 + k + SEED) % uses.length](value));
  if (!tell('claims')) break;
  compare(value, n);
  if (!tell('claims no more')) break;
}
for (const [n, each] of owners.entries()) {
  const now = held(each);
  const at = Array.from({ length: Math.max(now.length, before[n].length) }, (_, i) => i).find((i) => !Object.is(now[i], before[n][i]));
  // `held` has five values for each property, the first its key.
  if (at !== undefined) throw new Error(`FAULT changed: ${names.get(each)} at ${[before[n], now].map((all) => String(all[at - at % 5]))}`);
}
throw new Error('END');
