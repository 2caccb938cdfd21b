// The module `assert`. The tests have one of their own, so that a program's changes do not reach them.

const madeFailures = new WeakMap();
const isFailure = (value) => isObject(value) && weakMapHas(madeFailures, value);

class AssertionError extends PrimordialError {
    constructor(options) {
        const { message, actual, expected, operator } = options;
        super(message === undefined ? `${shown(actual)} ${operator} ${shown(expected)}` : toText(message));
        weakMapSet(madeFailures, this, true);
        hide(this, 'name', 'AssertionError');
        this.generatedMessage = message === undefined;
        this.code = 'ERR_ASSERTION';
        this.actual = actual;
        this.expected = expected;
        this.operator = operator;
    }

    toString() { return `${this.name} [${this.code}]: ${this.message}`; }
}

function failWith(actual, expected, message, operator, text) {
    if (isObject(message) && isError(message)) {
        weakMapSet(madeFailures, message, true);
        throw message;
    }
    const error = new AssertionError({ message: message ?? text, actual, expected, operator });
    error.generatedMessage = message === undefined;
    throw error;
}

// A value for a message: it does not decide itself how it looks, nor which error comes.
function shown(value) {
    try {
        return inspect(value, { depth: 5, customInspect: false });
    } catch {
        return 'a value that cannot be shown';
    }
}

const both = (text, actual, expected) => `${text}\n\n${shown(actual)} !== ${shown(expected)}\n`;

function makeAssert(strictOnly) {
    const check = (holds, operator, text) => (actual, expected, message) => {
        if (!holds(actual, expected)) failWith(actual, expected, message, operator, both(text, actual, expected));
    };
    const ok = (...values) => {
        if (values.length === 0) failWith(undefined, true, undefined, '==', 'No value argument passed to `assert.ok()`');
        if (values[0]) return;
        const line = lineOfTest();
        failWith(values[0], true, values[1], '==', `The expression evaluated to a falsy value${line === '' ? '' : `:\n\n  ${line}\n`}`);
    };
    const assert = (...values) => apply(ok, undefined, values);
    const looselyEqual = (a, b) => a == b || (a !== a && b !== b);
    const deep = (strict) => (a, b) => deepEqual(a, b, strict);
    const not = (holds) => (a, b) => !holds(a, b);
    const strict = {
        strictEqual: check(sameValue, 'strictEqual', 'Expected values to be strictly equal:'),
        notStrictEqual: check(not(sameValue), 'notStrictEqual', 'Expected "actual" to be strictly unequal to:'),
        deepStrictEqual: check(deep(true), 'deepStrictEqual', 'Expected values to be strictly deep-equal:'),
        notDeepStrictEqual: check(not(deep(true)), 'notDeepStrictEqual', 'Expected "actual" not to be strictly deep-equal to:'),
    };
    const loose = {
        equal: check(looselyEqual, '==', 'Expected values to be loosely equal:'),
        notEqual: check(not(looselyEqual), '!=', 'Expected "actual" to be loosely unequal to:'),
        deepEqual: check(deep(false), 'deepEqual', 'Expected values to be loosely deep-equal:'),
        notDeepEqual: check(not(deep(false)), 'notDeepEqual', 'Expected "actual" not to be loosely deep-equal to:'),
    };
    if (strictOnly) {
        loose.equal = strict.strictEqual;
        loose.notEqual = strict.notStrictEqual;
        loose.deepEqual = strict.deepStrictEqual;
        loose.notDeepEqual = strict.notDeepStrictEqual;
    }
    const rest = {
        ok,
        fail: (message) => failWith(undefined, undefined, message, 'fail', 'Failed'),
        ifError: (value) => {
            if (value !== null && value !== undefined) {
                failWith(value, null, undefined, 'ifError', `ifError got unwanted exception: ${value.message ?? shown(value)}`);
            }
        },
        match: (text, pattern, message) => {
            if (typeof text !== 'string' || !patternTest(pattern, text)) {
                failWith(text, pattern, message, 'match', `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`);
            }
        },
        doesNotMatch: (text, pattern, message) => {
            if (typeof text === 'string' && patternTest(pattern, text)) {
                failWith(text, pattern, message, 'doesNotMatch', `The input was expected to not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`);
            }
        },
        AssertionError,
    };
    addThrows(rest);
    const groups = [strict, loose, rest];
    for (let i = 0; i < groups.length; i++) {
        const names = objectKeys(groups[i]);
        for (let j = 0; j < names.length; j++) assert[names[j]] = groups[i][names[j]];
    }
    assert.strict = strictOnly ? assert : makeAssert(true);
    return assert;
}

function addThrows(assert) {
    const missing = (expected, message, operator, what) => {
        const name = typeof expected === 'function' && expected.name ? ` (${expected.name})` : '';
        failWith(undefined, expected, message, operator, `Missing expected ${what}${name}${typeof message === 'string' ? `: ${message}` : '.'}`);
    };
    const unwanted = (error, message, operator, what) => {
        const text = message === undefined ? '.' : `: ${message}`;
        failWith(error, undefined, undefined, operator, `Got unwanted ${what}${text}\nActual message: "${error?.message}"`);
    };
    assert.throws = (body, expected, message) => {
        let error;
        try {
            checkedBody(body)();
        } catch (caught) {
            error = { caught };
        }
        if (typeof expected === 'string') [expected, message] = [undefined, expected];
        if (error === undefined) missing(expected, message, 'throws', 'exception');
        else expectError(error.caught, expected, message, 'throws');
    };
    assert.doesNotThrow = (body, expected, message) => {
        try {
            checkedBody(body)();
        } catch (error) {
            unwanted(error, typeof expected === 'string' ? expected : message, 'doesNotThrow', 'exception');
        }
    };
    // What a function throws by itself is no rejection, and only a promise can be rejected.
    const outcome = async (work) => {
        const promise = typeof work === 'function' ? work() : work;
        const isThenable = isObject(promise) && (isPromise(promise) || (typeof promise.then === 'function' && typeof promise.catch === 'function'));
        if (!isThenable) {
            throw coded(new PrimordialTypeError(`Expected instance of Promise to be returned from the "promiseFn" function but got ${received(promise)}.`),
                typeof work === 'function' ? 'ERR_INVALID_RETURN_VALUE' : 'ERR_INVALID_ARG_TYPE');
        }
        try {
            await promise;
            return undefined;
        } catch (caught) {
            return { caught };
        }
    };
    assert.rejects = async (work, expected, message) => {
        const error = await outcome(work);
        if (typeof expected === 'string') [expected, message] = [undefined, expected];
        if (error === undefined) missing(expected, message, 'rejects', 'rejection');
        else expectError(error.caught, expected, message, 'rejects');
    };
    assert.doesNotReject = async (work, expected, message) => {
        const error = await outcome(work);
        if (error !== undefined) {
            unwanted(error.caught, typeof expected === 'string' ? expected : message, 'doesNotReject', 'rejection');
        }
    };
}

function checkedBody(body) {
    if (typeof body === 'function') return body;
    throw coded(new PrimordialTypeError(
        `The "fn" argument must be of type function. Received ${received(body)}`), 'ERR_INVALID_ARG_TYPE');
}

// `expected` is a class, a pattern, a predicate, or an object whose properties the error must have.
function expectError(error, expected, message, operator) {
    if (expected === undefined) return;
    const refuse = (text) => failWith(error, expected, message, operator, text);
    if (typeof expected === 'function') {
        if (expected.prototype !== undefined && instanceOf(expected, error) && !(isFailure(error) && isOfProgram(expected))) return;
        if (expected === PrimordialError || instanceOf(PrimordialError, expected.prototype)) {
            refuse(`The error is expected to be an instance of "${expected.name}". Received ${received(error)}\n\n` +
                `Error message:\n\n${toText(error?.message)}`);
        }
        if (apply(expected, {}, [error]) !== true) refuse('The validation function is expected to return "true".');
    } else if (isRegExp(expected)) {
        if (!patternTest(expected, toText(error))) {
            refuse(`The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(toText(error))}\n`);
        }
    } else {
        if (!isNested(error)) refuse(both('Expected values to be strictly deep-equal:', error, expected));
        const keys = objectKeys(expected);
        if (isError(expected)) push(keys, 'name', 'message');
        for (let i = 0; i < keys.length; i++) {
            const [wanted, found] = [expected[keys[i]], error[keys[i]]];
            const matches = isObject(wanted) && isRegExp(wanted) && typeof found === 'string' && patternTest(wanted, found);
            if (!matches && !(keys[i] in error && deepEqual(found, wanted, true))) {
                refuse(both('Expected values to be strictly deep-equal:', found, wanted));
            }
        }
    }
}
