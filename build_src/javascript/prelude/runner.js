// Runners of tests: mocha's and Jest's globals, `node:test`, Jest's `expect`. They run on the side of
// the tests alone.

let suite; // the one that is being declared
let wholeSuite;
let expected = 0; // how often something was expected outside of all tests
let ran = 0;
let failures = [];
let isRunning = false;
let onlySome = false;

const newSuite = (name, outer) => ({ name, outer, items: [], before: [], after: [], beforeEach: [], afterEach: [], limit: outer?.limit });

let isRunnerNeeded = false;

function beginSuite(isNeeded) {
    isRunnerNeeded = isNeeded;
    suite = wholeSuite = newSuite('', undefined);
    ran = expected = 0;
    failures = [];
    isRunning = onlySome = false;
    undoMocks();
    if (isFaked) stopClock(Infinity);
    mocks = [];
}

function suiteVerdict() {
    if (failures.length > 0) return failures[0];
    if (isRunning) return 'a promise of the test was never settled';
    if (ran > 0) return '';
    return isRunnerNeeded && expected === 0 ? 'no test was declared' : '';
}

function added(item) {
    push(suite.items, item);
    if (item.only) onlySome = true;
    if (isRunning) return item.done;
    isRunning = true;
    // Not before all are declared.
    setImmediate(() => promiseThen(runSuite(wholeSuite, !onlySome), endSuite, (error) => failed('', error)));
    return item.done;
}

function endSuite() {
    isRunning = false;
    if (isFaked) stopClock(Infinity);
}

function failed(name, error) {
    isRunning = false;
    push(failures, `${explain(error)}${name === '' ? '' : `\n  in the test ${inspect(name)}`}`);
}

function declare(isSuite, flags, values, forNode) {
    const name = values.length > 0 && typeof values[0] !== 'function' && typeof values[0] !== 'object' ? toText(values[0]) : '';
    const body = values.find((value) => typeof value === 'function');
    const options = values.find((value) => typeof value === 'object' && value !== null) ?? {};
    const item = { name, body, forNode, skip: flags.skip || body === undefined || Boolean(options.skip) || Boolean(options.todo), only: flags.only };
    item.limit = options.timeout ?? values.find((value) => typeof value === 'number');
    item.done = new PrimordialPromise((resolve) => { item.resolve = resolve; });
    if (!isSuite) return added(item);
    const inner = item.suite = newSuite(name, suite);
    if (!item.skip) {
        suite = inner;
        try {
            apply(body, context, []);
        } finally {
            suite = inner.outer;
        }
    }
    return added(item);
}

let running; // the test
let limit; // of its time, in ms
const context = {
    timeout(time) {
        if (running !== undefined) limit = time;
        else suite.limit = time;
        return this;
    },
    slow() { return this; },
    retries() { return this; },
    skip(...values) {
        if (this !== context || values.length > 0) throw new PrimordialError('a test is skipped by `this.skip()`'); // as the `then` of an object of the program
        throw skipped;
    },
};
kept.set(context.skip, true); // only a test skips itself
const skipped = new PrimordialError('skipped');

function declarer(isSuite, forNode) {
    const make = (flags) => (...values) => declare(isSuite, flags, values, forNode);
    const made = make({});
    made.only = make({ only: true });
    made.skip = made.todo = make({ skip: true });
    made.concurrent = made.sequential = made;
    const each = (flags) => (rows, ...inserted) => (name, body) => {
        const table = isArray(rows) && rows.raw !== undefined ? tableOf(rows, inserted) : rows;
        if (table.length === 0) throw new PrimordialError('`.each` was given an empty table');
        for (let i = 0; i < table.length; i++) {
            const row = isArray(table[i]) ? table[i] : [table[i]];
            make(flags)(titled(name, row, i), (...rest) => body(...row, ...rest));
        }
    };
    made.each = each({});
    made.only.each = each({ only: true });
    made.skip.each = each({ skip: true });
    return made;
}

// Jest's tables in templates: heads between "|", a row of values for each line.
function tableOf(texts, values) {
    const heads = split(texts[0], '|').map((head) => head.trim()).filter((head) => head !== '');
    const rows = [];
    for (let i = 0; i < values.length; i += heads.length) {
        const row = {};
        for (let j = 0; j < heads.length; j++) row[heads[j]] = values[i + j];
        push(rows, row);
    }
    return rows;
}

function titled(name, row, number) {
    let used = 0;
    return toText(name).replace(/%[sdifjop#%]/g, (mark) =>
        (mark === '%%' ? '%' : mark === '%#' ? `${number}` : inspect(row[used++])));
}

async function runSuite(own, wanted) {
    const hooks = async (kind) => {
        for (let i = 0; i < own[kind].length; i++) await called(own[kind][i], true);
    };
    await hooks('before');
    for (let i = 0; i < own.items.length; i++) {
        const item = own.items[i];
        const isWanted = wanted || item.only;
        if (item.skip) {
            item.resolve();
        } else if (item.suite !== undefined) {
            try {
                await runSuite(item.suite, isWanted && !hasOnly(item.suite));
            } catch (error) {
                failed(item.name, error);
                isRunning = true;
            }
        } else if (isWanted) {
            await runTest(own, item);
        }
        item.resolve();
    }
    await hooks('after');
}

const hasOnly = (own) => own.items.some((item) => item.only || (item.suite !== undefined && hasOnly(item.suite)));

async function runTest(own, item) {
    const chain = [];
    for (let at = own; at !== undefined; at = at.outer) chain.unshift(at);
    ran++;
    planned = undefined;
    running = item;
    limit = item.limit ?? own.limit;
    const began = clock;
    try {
        for (const at of chain) for (const hook of at.beforeEach) await called(hook, true);
        await called(item.body, false, item.forNode, item.name);
        if (clock - began > limit && !isFaked) throw new PrimordialError(`the test took longer than ${limit} ms`);
        checkPlan();
        for (const at of chain.reverse()) for (const hook of at.afterEach) await called(hook, true);
    } catch (error) {
        if (error === skipped) return;
        failed(item.name, error);
        isRunning = true;
    } finally {
        running = undefined;
    }
}

// A body that takes an argument gets `done`, from `node:test` a context first.
function called(body, isHook, forNode = false, name = '') {
    const own = forNode ? [testContext(name)] : [];
    if (body.length <= own.length) {
        const result = apply(body, context, own);
        return forNode ? promiseThen(PrimordialPromise.resolve(result), own[0].checkPlan) : result;
    }
    return new PrimordialPromise((resolve, reject) => {
        let isDone = false;
        const done = (error) => {
            if (isDone) failed(name, new PrimordialError('done() was called more than once'));
            isDone = true;
            return error === undefined || error === null ? resolve() : reject(error);
        };
        done.fail = (error) => reject(error ?? new PrimordialError('done.fail was called'));
        bare.set(done, true);
        const result = apply(body, context, [...own, done]);
        if (isObject(result) && typeof result.then === 'function') promiseThen(PrimordialPromise.resolve(result), undefined, reject);
    });
}

function testContext(name) {
    const before = [];
    const after = [];
    let used = 0; // of what `plan` counts
    const inner = async (...values) => {
        used++;
        const body = values.find((value) => typeof value === 'function');
        if (body === undefined) return;
        ran++;
        for (const each of before) await called(each, true);
        await called(body, false, true, typeof values[0] === 'string' ? values[0] : body.name);
        for (const each of after) await called(each, true);
    };
    const made = { test: inner, it: inner, name, fullName: name, mock, assert: require('assert'), diagnostic() {}, skip() {}, todo() {},
        before: (hook) => hook(), after: (hook) => push(suite.after, hook), beforeEach: (hook) => push(before, hook), afterEach: (hook) => push(after, hook) };
    hide(made, 'checkPlan', () => {});
    made.plan = (count) => {
        const { assert } = made;
        made.assert = {};
        for (const [key, member] of objectEntries(assert)) {
            made.assert[key] = (...values) => {
                used++;
                return member(...values);
            };
        }
        hide(made, 'checkPlan', () => { if (used !== count) unmet(`${count} assertions`, used); });
    };
    return made;
}

const hook = (kind) => (...values) => { push(suite[kind], values.find((value) => typeof value === 'function')); };
const hooks = { before: hook('before'), after: hook('after'), beforeEach: hook('beforeEach'), afterEach: hook('afterEach') };
hooks.beforeAll = hooks.setup = hooks.before;
hooks.afterAll = hooks.teardown = hooks.after;

// --- functions that remember how they were called -------------------------------------------------

let replaced = []; // what spies put aside
let mocks = []; // all of the running test
let isFaked = false;

// Time of day, from now on as it is or as it is set, moves with timers alone; Infinity ends that.
function stopClock(time) {
    if (isFaked && time === Infinity) { // what is left was made for the time that ends now
        dropTimers();
        ask('"dropTimers"');
    }
    isFaked = time !== Infinity;
    host.day(time === undefined ? NaN : toNumber(time));
    return jest;
}

function undoMocks() {
    for (let i = replaced.length - 1; i >= 0; i--) replaced[i]();
    replaced = [];
}

// Jest counts a call when it begins, `node:test` when it has ended.
function mockFunction(behaviour, original, isCountedLate = false) {
    let calls = [];
    let once = [];
    let current = behaviour;
    const mocked = function (...values) {
        const call = { values, self: this, result: undefined };
        if (!isCountedLate) push(calls, call);
        const body = once.length > 0 ? shift(once) : current;
        try {
            const value = new.target && body?.prototype !== undefined ? construct(body, values) : body === undefined ? undefined : apply(body, this, values);
            call.result = { type: 'return', value };
            return value;
        } catch (error) {
            call.result = { type: 'throw', value: error };
            throw error;
        } finally {
            if (isCountedLate) push(calls, call);
        }
    };
    bare.set(mocked, true);
    const state = {
        get calls() { return calls.map((call) => mockedCalls(call, original)); },
        get results() { return calls.map((call) => call.result); },
        get instances() { return calls.map((call) => call.self); },
        get contexts() { return calls.map((call) => call.self); },
        get lastCall() { return calls.at(-1)?.values; },
        callCount: () => calls.length,
        restore: () => mocked.mockRestore(),
        resetCalls: () => mocked.mockClear(),
        mockImplementation: (body) => mocked.mockImplementation(body),
        mockImplementationOnce: (body) => mocked.mockImplementationOnce(body),
    };
    mockCalls.set(mocked, () => calls);
    const chained = (change) => function (...values) {
        change(...values);
        return mocked;
    };
    const members = {
        mockImplementation: chained((body) => { current = body; }),
        mockImplementationOnce: chained((body) => push(once, body)),
        mockReturnValue: chained((value) => { current = () => value; }),
        mockReturnValueOnce: chained((value) => push(once, () => value)),
        mockReturnThis: chained(() => { current = function () { return this; }; }),
        mockResolvedValue: chained((value) => { current = () => PrimordialPromise.resolve(value); }),
        mockResolvedValueOnce: chained((value) => push(once, () => PrimordialPromise.resolve(value))),
        mockRejectedValue: chained((value) => { current = () => PrimordialPromise.reject(value); }),
        mockRejectedValueOnce: chained((value) => push(once, () => PrimordialPromise.reject(value))),
        mockName: chained(() => {}),
        mockClear: chained(() => { calls = []; }),
        mockReset: chained(() => { calls = []; once = []; current = original; }),
        mockRestore: chained(() => { calls = []; current = original; }),
        getMockName: () => 'jest.fn()',
    };
    for (const name of objectKeys(members)) hide(mocked, name, members[name]);
    defineProperty(mocked, 'mock', { value: state });
    push(mocks, mocked);
    return mocked;
}

const mockCalls = own(new PrimordialWeakMap());

// Jest lists the arguments of each call, `node:test` objects that hold them.
function mockedCalls(call, original) {
    const values = arraySlice(call.values);
    const { type, value } = call.result ?? {};
    for (const [name, member] of objectEntries({ arguments: call.values, this: call.self, result: type === 'return' ? value : undefined,
        error: type === 'throw' ? value : undefined, target: undefined, original })) hide(values, name, member);
    return values;
}

const objectEntries = Object.entries;

function spyOn(object, name, kind, isCountedLate) {
    const own = getOwnPropertyDescriptor(object, name);
    const original = kind === undefined ? object[name] : own[kind];
    if (typeof original === 'function' && mockCalls.has(original)) return original;
    const spy = mockFunction(original, original, isCountedLate);
    const restore = () => (own === undefined ? deleteProperty(object, name) : defineProperty(object, name, own));
    const { mockRestore } = spy;
    hide(spy, 'mockRestore', () => {
        mockRestore();
        restore();
        return spy;
    });
    push(replaced, restore);
    if (kind === undefined) defineProperty(object, name, { value: spy, writable: true, enumerable: own?.enumerable ?? true, configurable: true });
    else defineProperty(object, name, { ...own, [kind]: spy });
    return spy;
}

const jestMembers = {
    fn: (body) => mockFunction(body, undefined),
    spyOn: (object, name, kind) => spyOn(object, name, kind, false),
    isMockFunction: (value) => typeof value === 'function' && mockCalls.has(value),
    restoreAllMocks: undoMocks,
    clearAllMocks: () => each(mocks, 'mockClear'),
    resetAllMocks: () => each(mocks, 'mockReset'),
    setTimeout: (time) => {
        suite.limit = time;
        return jest;
    },
    resetModules: () => jest,
    mocked: (value) => value,
    // Time only passes when nothing else is left to do, or here.
    useFakeTimers: (options) => stopClock(options?.now),
    useRealTimers: () => stopClock(Infinity),
    setSystemTime: stopClock,
    getTimerCount: () => queue.length + ask('"timers"'),
    now: () => Date.now(),
    advanceTimersByTime: (time) => pass(clock + time),
    runAllTimers: () => pass(Infinity),
    runOnlyPendingTimers: () => pass(max(queue.length > 0 ? queue[queue.length - 1].due : clock, ask('"lastDue"'))),
    advanceTimersByTimeAsync: async (time) => pass(clock + time, 1),
    runAllTimersAsync: async () => pass(Infinity, 1),
    runAllTicks: () => {},
};

function each(mocked, method) {
    for (let i = 0; i < mocked.length; i++) mocked[i][method]();
    return jest;
}

function pass(until, drains = 0) {
    host.advance(until, drains);
    return jest;
}

// A member that is not here is no fault of the program: the message says so as for a module.
function complete(object, path) {
    return new PrimordialProxy(object, {
        __proto__: null,
        get: (target, key) => {
            if (key in target || typeof key === 'symbol' || key === 'then') return target[key];
            throw coded(new PrimordialError(`Cannot find module '${path}.${key}'`), 'MODULE_NOT_FOUND');
        },
    });
}
const jest = complete(jestMembers, 'jest');
const mock = {
    fn: (...bodies) => mockFunction(bodies.findLast((body) => typeof body === 'function'), bodies[0], true),
    method: (object, name, body) => {
        const spy = spyOn(object, name, undefined, true);
        return typeof body === 'function' ? spy.mockImplementation(body) : spy;
    },
    reset: undoMocks,
    restoreAll: undoMocks,
    timers: complete({
        enable: ({ apis, now: time = 0 } = {}) => { if (apis === undefined || apis.includes('Date')) stopClock(time); },
        reset: () => { stopClock(Infinity); },
        tick: (time = 1) => { pass(clock + time); },
        runAll: () => { pass(queue.length > 0 || ask('"timers"') > 0 ? Infinity : clock); },
        setTime: (time) => { stopClock(time); },
    }, 'mock.timers'),
};

// --- expect ----------------------------------------------------------------------------------------

const matching = own(new PrimordialWeakMap()); // what a matcher of the tests' own asks
const isMatcher = (value) => isObject(value) && matching.has(value);

class Matcher {
    constructor(text, matches) {
        hide(this, 'text', text);
        hide(this, 'asymmetricMatch', matches);
        matching.set(this, matches);
    }

    [customInspect]() { return this.text; }
}

// Jest's equality: `strict` also compares classes, undefined properties and holes.
function alike(a, b, strict, pairs = []) {
    if (isMatcher(b)) return matching.get(b)(a);
    if (isMatcher(a)) return matching.get(a)(b);
    if (sameValue(a, b)) return true;
    if (!isNested(a) || !isNested(b) || objectTag(a) !== objectTag(b) || isArray(a) !== isArray(b)) return false;
    if (strict && getPrototypeOf(a) !== getPrototypeOf(b)) return false;
    if (isError(a) && isError(b)) return a.message === b.message && a.name === b.name;
    for (let i = 0; i < pairs.length; i++) if (pairs[i][0] === a && pairs[i][1] === b) return true;
    push(pairs, [a, b]);
    const equal = alikeInside(a, b, strict, pairs);
    pairs.length -= 1;
    return equal;
}

function alikeInside(a, b, strict, pairs) {
    const inner = (one, other) => alike(one, other, strict, pairs);
    if (isSet(a) && isSet(b)) return setSize(a) === setSize(b) && matched([...a], [...b], inner);
    if (isMap(a) && isMap(b)) return mapSize(a) === mapSize(b) && matched([...a], [...b], (one, other) => inner(one[0], other[0]) && inner(one[1], other[1]));
    if (kindOf(a) !== kindOf(b)) return false;
    if (!isError(a) && !sameInside(a, b, true, pairs)) return false;
    const keys = (value) => enumerableKeys(value, true).filter((key) => strict || value[key] !== undefined);
    const names = keys(a);
    if (names.length !== keys(b).length) return false;
    return names.every((name) => (strict ? isEnumerable(b, name) : hasOwn(b, name)) && inner(a[name], b[name]));
}

// Whether `a` has all that `b` names.
function contains(a, b) {
    if (!isNested(b) || isArray(b) || isMatcher(b)) {
        if (isArray(b) && isArray(a)) return a.length === b.length && b.every((item, i) => contains(a[i], item));
        return alike(a, b, false);
    }
    if (!isNested(a)) return false;
    if (kindOf(b) >= 0) return alike(a, b, false);
    return enumerableKeys(b, true).every((key) => key in a && contains(a[key], b[key]));
}

function memberAt(value, path) {
    const names = isArray(path) ? path : toText(path).split(/[.[\]]+/).filter((name) => name !== '');
    for (let i = 0; i < names.length; i++) {
        if (value === null || value === undefined || !(names[i] in Object(value))) return undefined;
        value = value[names[i]];
    }
    return { value };
}

function callsOf(mocked) {
    if (typeof mocked !== 'function' || !mockCalls.has(mocked)) throw new PrimordialTypeError('expected a mock function');
    return mockCalls.get(mocked)();
}

class Rejection {
    constructor(rejection) { hide(this, 'rejection', rejection); }
}

function throwsAs(body, expected) {
    let error;
    if (instanceOf(Rejection, body)) {
        if (isObject(body.rejection) && isError(body.rejection)) error = body;
    } else {
        try {
            checkedBody(body)();
        } catch (caught) {
            error = new Rejection(caught);
        }
    }
    if (error === undefined) return false;
    const { rejection } = error;
    if (expected === undefined) return true;
    const text = typeof rejection?.message === 'string' ? rejection.message : toText(rejection);
    if (typeof expected === 'string') return includes(text, expected);
    if (isObject(expected) && isRegExp(expected)) return patternTest(expected, text);
    if (typeof expected === 'function') return rejection instanceof expected;
    if (isMatcher(expected)) return matching.get(expected)(rejection);
    return text === expected.message;
}

const isNumeric = (value) => typeof value === 'number' || typeof value === 'bigint';
const matchers = {
    toBe: sameValue,
    toEqual: (a, b) => alike(a, b, false),
    toStrictEqual: (a, b) => alike(a, b, true),
    toBeTruthy: Boolean,
    toBeFalsy: (a) => !a,
    toBeNull: (a) => a === null,
    toBeUndefined: (a) => a === undefined,
    toBeDefined: (a) => a !== undefined,
    toBeNaN: (a) => typeof a === 'number' && a !== a,
    toBeGreaterThan: (a, b) => isNumeric(a) && a > b,
    toBeGreaterThanOrEqual: (a, b) => isNumeric(a) && a >= b,
    toBeLessThan: (a, b) => isNumeric(a) && a < b,
    toBeLessThanOrEqual: (a, b) => isNumeric(a) && a <= b,
    toBeCloseTo: (a, b, digits = 2) => typeof a === 'number' && (a === b || abs(a - b) < 10 ** -digits / 2),
    toBeInstanceOf: (a, b) => a instanceof b,
    toContain: (a, b) => (typeof a === 'string' ? includes(a, b) : arrayFrom(a).includes(b)),
    toContainEqual: (a, b) => arrayFrom(a).some((item) => alike(item, b, false)),
    toHaveLength: (a, b) => a.length === b,
    toMatch: (a, b) => typeof a === 'string' && (typeof b === 'string' ? includes(a, b) : patternTest(b, a)),
    toMatchObject: contains,
    toHaveProperty: (a, path, ...wanted) => {
        const found = memberAt(a, path);
        return found !== undefined && (wanted.length === 0 || alike(found.value, wanted[0], false));
    },
    toThrow: throwsAs,
    toThrowError: throwsAs,
    toSatisfy: (a, check) => Boolean(check(a)),
    toBeTypeOf: (a, name) => typeof a === name,
    toHaveBeenCalled: (a) => callsOf(a).length > 0,
    toHaveBeenCalledOnce: (a) => callsOf(a).length === 1,
    toHaveBeenCalledTimes: (a, count) => callsOf(a).length === count,
    toHaveBeenCalledWith: (a, ...values) => callsOf(a).some((call) => alike(call.values, values, false)),
    toHaveBeenLastCalledWith: (a, ...values) => alike(callsOf(a).at(-1)?.values, values, false),
    toHaveBeenNthCalledWith: (a, n, ...values) => alike(callsOf(a)[n - 1]?.values, values, false),
    toHaveReturned: (a) => callsOf(a).some((call) => call.result?.type === 'return'),
    toHaveReturnedTimes: (a, count) => callsOf(a).filter((call) => call.result?.type === 'return').length === count,
    toHaveReturnedWith: (a, value) => callsOf(a).some((call) => call.result?.type === 'return' && alike(call.result.value, value, false)),
    toHaveLastReturnedWith: (a, value) => alike(callsOf(a).at(-1)?.result?.value, value, false),
};
for (const [short, long] of [['toBeCalled', 'toHaveBeenCalled'], ['toBeCalledTimes', 'toHaveBeenCalledTimes'], ['toBeCalledWith', 'toHaveBeenCalledWith'],
    ['lastCalledWith', 'toHaveBeenLastCalledWith'], ['toReturnWith', 'toHaveReturnedWith'], ['toReturn', 'toHaveReturned']]) matchers[short] = matchers[long];

function expect(actual) {
    const made = expectation(actual, false, (value) => value);
    const promised = (wantsError) => {
        const work = wantsError && typeof actual === 'function' ? actual() : actual;
        return typeof work?.then === 'function' ? PrimordialPromise.resolve(work) : unmet('a promise', work);
    };
    const settled = (wantsError) => async (work) => promiseThen(promised(wantsError),
        (value) => (wantsError ? unmet('the promise to be rejected', value) : work(value)),
        (error) => {
            if (!wantsError) throw error;
            return work(error);
        });
    for (const [name, wantsError] of [['resolves', false], ['rejects', true]]) {
        made[name] = expectation(actual, false, settled(wantsError), wantsError);
        made[name].not = expectation(actual, true, settled(wantsError), wantsError);
    }
    made.not = expectation(actual, true, (value) => value);
    return complete(made, 'expect()');
}

function unmet(text, actual) {
    throw new AssertionError({ message: `expected ${text}, received ${slice(shown(actual), 0, 400)}`, actual, operator: 'expect' });
}

// What `expect.assertions` of the running test asks for.
let planned;

function checkPlan() {
    const { from, count } = planned ?? { from: -1 };
    planned = undefined;
    const found = expected - from;
    if (from >= 0 && (count === undefined ? found === 0 : found !== count)) unmet(`${count ?? 'some'} assertions`, found);
}

function expectation(actual, negated, when, isRejection) {
    const made = {};
    for (const name of objectKeys(matchers)) {
        made[name] = (...values) => {
            const check = (value) => {
                expected++;
                const subject = isRejection && startsWith(name, 'toThrow') ? new Rejection(value) : value;
                if (Boolean(matchers[name](subject, ...values)) === negated) {
                    unmet(`${negated ? 'not ' : ''}${name}(${join(values.map((each) => slice(shown(each), 0, 400)), ', ')})`, value);
                }
            };
            return isRejection === undefined ? check(actual) : when(check);
        };
    }
    return made;
}

const anyOf = { __proto__: null, String: 'string', Number: 'number', Boolean: 'boolean', Function: 'function', BigInt: 'bigint', Symbol: 'symbol', Object: 'object' };
const asymmetric = {
    any: (kind) => new Matcher(`Any<${kind.name}>`, (value) => typeof value === anyOf[kind.name] || value instanceof kind),
    anything: () => new Matcher('Anything', (value) => value !== undefined && value !== null),
    objectContaining: (wanted) => new Matcher('ObjectContaining', (value) =>
        isObject(value) && enumerableKeys(wanted, true).every((key) => key in value && alike(value[key], wanted[key], false))),
    arrayContaining: (wanted) => new Matcher('ArrayContaining', (value) => isArray(value) && wanted.every((item) => value.some((each) => alike(each, item, false)))),
    stringContaining: (text) => new Matcher('StringContaining', (value) => typeof value === 'string' && includes(value, text)),
    stringMatching: (pattern) => new Matcher('StringMatching', (value) => typeof value === 'string' && new RegExp(pattern).test(value)),
    closeTo: (number, digits) => new Matcher('CloseTo', (value) => matchers.toBeCloseTo(value, number, digits)),
};
for (const name of objectKeys(asymmetric)) expect[name] = asymmetric[name];
expect.not = {};
for (const name of objectKeys(asymmetric)) {
    expect.not[name] = (...values) => {
        const { asymmetricMatch } = asymmetric[name](...values);
        return new Matcher(`Not${name}`, (value) => !asymmetricMatch(value));
    };
}
expect.assertions = (count) => { planned = { from: expected, count }; };
expect.hasAssertions = () => { planned = { from: expected, count: undefined }; };
expect.extend = (more) => {
    for (const name of objectKeys(more)) matchers[name] = (...values) => more[name](...values).pass;
};
expect.unreachable = (text) => unmet('not to get here', text);

const runnerGlobals = { describe: declarer(true, false), it: declarer(false, false), expect, jest, vi: jest, ...hooks };
runnerGlobals.test = runnerGlobals.specify = runnerGlobals.it;
runnerGlobals.suite = runnerGlobals.context = runnerGlobals.describe;
runnerGlobals.xit = runnerGlobals.xtest = runnerGlobals.it.skip;
runnerGlobals.fit = runnerGlobals.it.only;
runnerGlobals.xdescribe = runnerGlobals.describe.skip;
runnerGlobals.fdescribe = runnerGlobals.describe.only;

function makeNodeTest() {
    const test = declarer(false, true);
    const describe = declarer(true, true);
    return Object.assign(test, { test, it: test, describe, suite: describe, mock, ...hooks });
}
for (const name of ['mocha', 'jest', '@jest/globals', 'vitest', 'bun:test']) runners[name] = () => runnerGlobals;
runners.test = makeNodeTest;
