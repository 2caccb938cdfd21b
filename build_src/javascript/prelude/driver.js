// What the host calls. No program can reach these functions: only the host holds them.

// Before a program with tests. The console, the `require` and the JSON that its tests will see are
// fixed, so that the program can neither replace them nor hide them behind a global declaration of
// its own.
function lock() {
    const { console } = globals;
    defineProperty(console, 'assert', { value: console.assert, writable: false, configurable: false });
    fix('console', console);
    fix('require', require);
    fix('JSON', JSON);
    for (const name of ['stringify', 'parse']) {
        defineProperty(JSON, name, { writable: false, configurable: false });
    }
}

const fix = (name, value) =>
    defineProperty(globalThis, name, { value, writable: false, enumerable: false, configurable: false });

// What tests themselves call is put back as it was before they run, whatever the program did to it,
// and can then no longer be changed. Methods that programs add stay.
const kept = []; // of [path, object, descriptors]

function protect() {
    const generator = getPrototypeOf(function* () {}.prototype);
    const iterators = { generator, mapIterators, setIterators, arrayIterators: getPrototypeOf([][PrimordialSymbol.iterator]()) };
    const { Object, Function, Array, String, Number, Math, Map, Set, Promise, RegExp, Date, Reflect, Error, BigInt } = globalThis;
    const whole = { Object, Array, String, Number, Math, Promise, Reflect, BigInt, ...iterators };
    for (const name of objectKeys(whole)) keep(name, whole[name], ownKeys(whole[name]));
    const errors = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
    const classes = { Object, Function, Array, String, Number, Map, Set, Promise, RegExp, Date, Error };
    for (const name of objectKeys(classes)) keep(`${name}.prototype`, classes[name].prototype, ownKeys(classes[name].prototype));
    keep('TypedArray.prototype', TypedArrayPrototype, ownKeys(TypedArrayPrototype));
    const { hasInstance } = PrimordialSymbol;
    const value = Function.prototype[hasInstance];
    for (const constructor of objectValues({ ...classes, ...errors })) {
        push(kept, [`${constructor.name}[Symbol.hasInstance]`, constructor, { __proto__: null, [hasInstance]: { __proto__: null, value } }]);
    }
}

const untouched = ['constructor', 'name', 'message', 'length', 'prototype'];
const assignable = ['toString', 'toLocaleString', 'valueOf', 'toJSON'];

function keep(path, object, keys) {
    const descriptors = { __proto__: null };
    for (let i = 0; i < keys.length; i++) {
        if (arrayIndexOf(untouched, keys[i]) >= 0) continue;
        const found = { __proto__: null, ...getOwnPropertyDescriptor(object, keys[i]), configurable: false };
        if ('writable' in found) found.writable = false;
        descriptors[keys[i]] = arrayIndexOf(assignable, keys[i]) < 0 ? found : accessor(keys[i], found.value);
    }
    push(kept, [path, object, descriptors]);
}

// Where a name is locked, objects that inherit it cannot be assigned one of their own, as programs
// do with these: `point.toString = ...`. With an accessor they can.
function accessor(key, inherited) {
    const set = function (value) {
        if (isObject(this)) defineOwn(this, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    };
    return { __proto__: null, get: () => inherited, set, enumerable: false, configurable: false };
}

const ObjectPrototype = Object.prototype;

function secure() {
    for (let i = 0; i < kept.length; i++) {
        try {
            defineProperties(kept[i][1], kept[i][2]);
        } catch {
            throw new PrimordialError(`the program changed ${kept[i][0]} for good`);
        }
    }
    preventExtensions(ObjectPrototype);
}

// Lets the next test take `report` from a global of this name, once and as the first thing it does.
let offered = '';

function offer(name) {
    offered = name;
    hide(globalThis, name, () => {
        withdraw();
        return report;
    });
}

function withdraw() {
    if (offered !== '') delete globalThis[offered];
    offered = '';
}

// One assertion of a test: what it asks about goes to the host, to be judged there. With `isLazy`
// the values are functions, of which one that throws matters only where it is needed. `classes` are
// the names of those that the test itself makes objects of.
function report(id, values, isLazy = false, classes = []) {
    let text;
    try {
        text = encoded(values, isLazy, classes);
    } catch (error) {
        host.report(`${id}!${reason(error)}`);
        throw error;
    }
    host.report(`${id}=${text}`);
}

function encoded(values, isLazy, classes) {
    const encoder = new Encoder();
    let text = '';
    for (let i = 0; i < values.length; i++) {
        text += `${i > 0 ? ',' : ''}${isLazy ? attempted(encoder, values[i], classes) : answer(encoder, values[i], classes)}`;
    }
    return `[${text}]`;
}

function attempted(encoder, compute, classes) {
    let value;
    let hasThrown = false;
    try {
        value = compute();
    } catch (error) {
        value = error;
        hasThrown = true;
    }
    return hasThrown ? `["!",${encoder.value(value, 0)}]` : answer(encoder, value, classes);
}

// A value. An object of such a class is one of those that the test works with, and has its own
// conversions: what they give for an operator such as + or ==, for a number, and for a text.
function answer(encoder, value, classes) {
    const text = encoder.value(value, 0);
    if (classes.length === 0 || !isObject(value) || !isOneOf(classes, value)) return text;
    const asked = (hint) => attempted(encoder, () => primitive(value, hint), []);
    return `["v",${text},${asked('default')},${asked('number')},${asked('string')}]`;
}

function isOneOf(classes, value) {
    for (let own = getPrototypeOf(value); own !== null && !mapHas(builtinPaths, own); own = getPrototypeOf(own)) {
        const constructor = getOwnPropertyDescriptor(own, 'constructor')?.value;
        const name = isObject(constructor) ? getOwnPropertyDescriptor(constructor, 'name')?.value : undefined;
        if (arrayIndexOf(classes, name) >= 0) return true;
    }
    return false;
}

const { toPrimitive } = PrimordialSymbol;

// OrdinaryToPrimitive and ToPrimitive of ECMA-262.
function primitive(value, hint) {
    const convert = value[toPrimitive];
    const names = convert !== undefined && convert !== null ? [toPrimitive] : hint === 'string' ? ['toString', 'valueOf'] : ['valueOf', 'toString'];
    for (let i = 0; i < names.length; i++) {
        const method = value[names[i]];
        const found = typeof method === 'function' ? apply(method, value, [hint]) : value;
        if (!isObject(found)) return found;
    }
    throw new PrimordialTypeError('Cannot convert object to primitive value');
}

function reason(error) {
    try {
        return explain(error);
    } catch {
        return 'the value could not be read';
    }
}

function given(decoder, code) {
    const kind = isArray(code) ? code[0] : '';
    if (kind === '!') return { hasThrown: true, value: decoder.value(code[1]) };
    if (kind !== 'v') return { hasThrown: false, value: decoder.value(code) };
    const value = decoder.value(code[1]);
    const converted = { default: given(decoder, code[2]), number: given(decoder, code[3]), string: given(decoder, code[4]) };
    hide(value, toPrimitive, (hint) => orThrow(converted[hint]));
    return { hasThrown: false, value };
}

function orThrow({ hasThrown, value }) {
    if (hasThrown) throw value;
    return value;
}

// In the instance that judges: what a report holds becomes `$value(n)`, and `$told` describes it.
function give(text) {
    const codes = jsonParse(text);
    const decoder = new Decoder();
    const values = [];
    for (let i = 0; i < codes.length; i++) {
        push(values, given(decoder, codes[i]));
    }
    hide(globalThis, '$value', (n) => orThrow(values[n]));
    hide(globalThis, '$told', (...sources) => {
        const parts = [];
        for (let i = 0; i < sources.length; i++) {
            const { hasThrown, value } = values[i];
            push(parts, `${sources[i]} ${hasThrown ? 'throws' : 'is'} ${slice(inspect(value), 0, 400)}`);
        }
        return join(parts, ', ');
    });
}

// After a program with tests: what it exported becomes visible to them, by its own name where that
// is not taken, and as `require('./anything')`.
function expose() {
    secure();
    ownModule = moduleObject;
    const { exports } = moduleObject;
    if (typeof exports === 'function' && identifierLike(exports.name)) lend(exports.name, exports);
    if (!isObject(exports)) return;
    const names = objectKeys(exports);
    for (let i = 0; i < names.length; i++) if (identifierLike(names[i])) lend(names[i], exports[names[i]]);
}

const identifierLike = (name) => typeof name === 'string' && patternTest(identifier, name);

function lend(name, value) {
    if (!(name in globalThis)) hide(globalThis, name, value);
}

// The `assert` of tests. A program that is tested has it too, and can change nothing about it.
const frozenAssert = makeAssert(false);
const frozen = [frozenAssert, frozenAssert.strict, AssertionError, AssertionError.prototype];
for (let i = 0; i < frozen.length; i++) freeze(frozen[i]);

// Before each test: fresh modules, whatever was done to the old ones. Returns how many assertions
// failed since the last time.
function arm() {
    const failed = failedAssertions;
    loaded = new PrimordialMap();
    mapSet(loaded, 'assert', frozenAssert);
    mapSet(loaded, 'assert/strict', frozenAssert.strict);
    failedAssertions = 0;
    firstFailure = '';
    withdraw();
    return failed;
}

// After a test that ended by itself: '' or why it failed. `value` is its completion value; for a
// test that awaits, a promise of an object that holds it.
function verdict(value) {
    flush();
    if (failedAssertions > 0) return firstFailure;
    let settled = !isPending(value);
    if (settled && isObject(value) && isPromise(value)) {
        const result = host.promiseResult(value);
        settled = !isObject(result) || !hasOwn(result, 'value') || !isPending(result.value);
    }
    return settled ? '' : 'a promise of the test was never settled';
}

const isPending = (value) => isObject(value) && isPromise(value) && host.promiseState(value) === 0;

// The first lines of an error: what a test's report shows of an exception.
function explain(error) {
    if (!isObject(error) || !isError(error)) return `Uncaught ${inspect(error)}`;
    return slice(errorHeader(error), 0, 2000) || 'Error';
}

// Hands an error to the program's own listeners. Returns 1 where there are any.
const heard = (event, ...values) => (process.emit(event, ...values) ? 1 : 0);
const caught = (error) => heard('uncaughtException', error, 'uncaughtException');
const rejected = (reason, promise) => heard('unhandledRejection', reason, promise);

// Writes an error that nobody caught. Returns 1 where the memory ran out, 2 where that may be so
// (QuickJS throws null where there is no room for the error itself, and another message where there
// is none for the text), else 0.
function fail(error) {
    const isReal = isObject(error) && isError(error);
    write(2, `${isReal ? '' : 'Uncaught '}${inspect(error)}\n`);
    flush();
    if (error === null) return 2;
    if (!isReal || error.name !== 'InternalError') return 0;
    return error.message === 'out of memory' ? 1 : error.message === 'Invalid error message' ? 2 : 0;
}

// When nothing is left to run. Returns the exit code.
function finish() {
    if (process.exitCode === undefined && failedAssertions > 0) process.exitCode = 1;
    const code = toNumber(process.exitCode ?? 0);
    process.emit('exit', code);
    flush();
    return toNumber(process.exitCode ?? code) || (failedAssertions > 0 ? 1 : 0);
}

knowBuiltins();
protect();

return { ticks: runTicks, next: () => (runNext() ? 1 : 0), caught, rejected, fail, flush, finish, lock, expose, arm, verdict, explain, offer, give };
