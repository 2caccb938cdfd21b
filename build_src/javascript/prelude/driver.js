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

// After a program with tests: what it exported becomes visible to them, by its own name where that
// is not taken, and as `require('./anything')`.
function expose() {
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

return { ticks: runTicks, next: () => (runNext() ? 1 : 0), caught, rejected, fail, flush, finish, lock, expose, arm, verdict, explain };
