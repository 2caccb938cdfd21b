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
// and most of it can then no longer be changed. Methods that programs add stay. Where an assignment
// to an object of one's own would fail for a locked name of its prototype, that is not locked but
// watched: `this.name = ...`, `point.toString = ...`.
const watched = []; // of [path, object, key, descriptor]
const locked = [];

function protect() {
    const generator = getPrototypeOf(function* () {}.prototype);
    const iterators = { generator, mapIterators, setIterators, arrayIterators: getPrototypeOf([][PrimordialSymbol.iterator]()) };
    const { Object, Function, Array, String, Number, Math, Map, Set, Promise, RegExp, Date, Reflect, Error, BigInt } = globalThis;
    const whole = { Object, Array, String, Number, Math, Promise, Reflect, BigInt, ...iterators };
    const inherited = { Object, Function, Array, String, Number, Map, Set, Promise, RegExp, Date, Error };
    for (const name of objectKeys(whole)) protectAll(name, whole[name], true);
    for (const name of objectKeys(inherited)) {
        protectAll(`${name}.prototype`, inherited[name].prototype, name !== 'Object' && name !== 'Error');
    }
    protectAll('TypedArray.prototype', TypedArrayPrototype, true);
    const errors = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
    const classes = { Object, Function, Array, String, Number, Map, Set, Promise, RegExp, Date, Error, ...errors };
    const { hasInstance } = PrimordialSymbol;
    const descriptor = { __proto__: null, value: Function.prototype[hasInstance] };
    for (const name of objectKeys(classes)) push(locked, [`${name}[Symbol.hasInstance]`, classes[name], hasInstance, descriptor]);
}

const untouched = ['constructor', 'name', 'message', 'length', 'prototype'];
const assigned = ['toString', 'toLocaleString', 'valueOf', 'toJSON'];

function protectAll(name, object, isLocked) {
    for (const key of ownKeys(object)) {
        if (arrayIndexOf(untouched, key) >= 0) continue;
        const found = { __proto__: null, ...getOwnPropertyDescriptor(object, key) };
        const lock = isLocked && arrayIndexOf(assigned, key) < 0;
        if (lock) {
            found.configurable = false;
            if ('writable' in found) found.writable = false;
        }
        push(lock ? locked : watched, [`${name}.${toText(key)}`, object, key, found]);
    }
}

const ObjectPrototype = Object.prototype;
let commonKeys = ownKeys(ObjectPrototype).length;

function secure() {
    for (let i = 0; i < locked.length; i++) restore(locked[i]);
    for (let i = 0; i < watched.length; i++) restore(watched[i]);
    commonKeys = ownKeys(ObjectPrototype).length;
}

function restore(entry) {
    try {
        defineProperty(entry[1], entry[2], entry[3]);
    } catch {
        throw new PrimordialError(`the program changed ${entry[0]} for good`);
    }
}

// What was changed since `secure`, or ''.
function changed() {
    for (let i = 0; i < watched.length; i++) {
        const entry = watched[i];
        const found = getOwnPropertyDescriptor(entry[1], entry[2]);
        if (found === undefined || !isSame(found, entry[3])) return entry[0];
    }
    return ownKeys(ObjectPrototype).length === commonKeys ? '' : 'Object.prototype';
}

const isSame = (found, kept) => (hasOwn(found, 'value')
    ? hasOwn(kept, 'value') && sameValue(found.value, kept.value)
    : found.get === kept.get && found.set === kept.set);

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
// the values are functions, of which one that throws matters only where it is needed.
function report(id, values, isLazy) {
    let text;
    try {
        refuseChanges();
        text = encoded(values, isLazy === true);
    } catch (error) {
        host.report(`${id}!${reason(error)}`);
        throw error;
    }
    host.report(`${id}=${text}`);
}

function refuseChanges() {
    const path = changed();
    if (path !== '') throw new PrimordialError(`the program changed ${path} while it was tested`);
}

function encoded(values, isLazy) {
    const encoder = new Encoder();
    let text = '';
    for (let i = 0; i < values.length; i++) {
        text += `${i > 0 ? ',' : ''}${isLazy ? attempted(encoder, values[i]) : encoder.value(values[i], 0)}`;
    }
    return `[${text}]`;
}

function attempted(encoder, compute) {
    let value;
    let hasThrown = false;
    try {
        value = compute();
    } catch (error) {
        value = error;
        hasThrown = true;
    }
    const text = encoder.value(value, 0);
    return hasThrown ? `["!",${text}]` : text;
}

function reason(error) {
    try {
        return explain(error);
    } catch {
        return 'the value could not be read';
    }
}

// In the instance that judges: what a report holds becomes `$value(n)`, and `$told` describes it.
function give(text) {
    const codes = jsonParse(text);
    const decoder = new Decoder();
    const values = [];
    for (let i = 0; i < codes.length; i++) {
        const hasThrown = isArray(codes[i]) && codes[i][0] === '!';
        push(values, { hasThrown, value: decoder.value(hasThrown ? codes[i][1] : codes[i]) });
    }
    hide(globalThis, '$value', (n) => {
        if (values[n].hasThrown) throw values[n].value;
        return values[n].value;
    });
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

// Before each test: fresh modules, whatever was done to the old ones. Returns how many assertions
// failed since the last time.
function arm() {
    const failed = failedAssertions;
    loaded = new PrimordialMap();
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
    refuseChanges();
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
