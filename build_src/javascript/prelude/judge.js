// What the program's side offers to its tests, and how the tests are run on theirs.

// --- the program's side -------------------------------------------------------------------------

function performedByProgram(what) {
    if (what[0] === 'names') return offered(what[1], what[2]);
    if (what[0] === 'timers') return queue.length;
    if (what[0] === 'lastDue') return queue.length > 0 ? queue[queue.length - 1].due : 0;
    if (what[0] === 'dropTimers') return dropTimers();
    if (what[0] === 'text') return functionText(decode(what[1]));
    if (what[0] !== 'set') return nonsense();
    indirectEval(`(value) => { ${what[1]} = value; }`)(decode(what[2]));
    return undefined;
}

// Plain tests: expressions, of which the host compares the values. Returns 1 where all names are
// functions that the program declares.
let expressions = [];
let lastValue;

function compile(text) {
    const [names, sources] = jsonParse(text);
    let kinds = '';
    for (let i = 0; i < names.length; i++) kinds += `typeof ${names[i]} === 'function' && `;
    if (!indirectEval(`${kinds} true`)) return 0;
    let made = '';
    for (let i = 0; i < sources.length; i++) made += `() => (${sources[i]}\n), `;
    expressions = indirectEval(`[${made}]`);
    return 1;
}

// "=" and the value as JSON, "!" and why it is none, or "#" and the error.
function valueOf(n) {
    try {
        lastValue = expressions[n]();
    } catch (error) {
        return `#${explain(error)}`;
    }
    return lastValue === undefined ? '=undefined' : plainly(lastValue, ObjectPrototype);
}

// The names are looked up as code of the program would: they may be declared in any way.
function offered(words, kinds) {
    isCareful = arrayIndexOf(kinds, 'accessors') >= 0;
    keepsAll = arrayIndexOf(kinds, 'weak') >= 0;
    if (arrayIndexOf(kinds, 'env') >= 0) shareEnvironment();
    let text = '';
    for (let i = 0; i < words.length; i++) text += `() => ${words[i]}, `;
    const readers = indirectEval(`[${text}]`);
    for (let i = 0; i < words.length; i++) push(cells, { name: words[i], read: readerOf(words[i], readers[i]), last: UNSET });
    if (arrayIndexOf(kinds, 'exports') >= 0) push(cells, { name: 'module.exports', read: () => moduleObject.exports, last: UNSET });
    return arrayIndexOf(kinds, 'additions') >= 0 ? additions() : undefined;
}

// Reads a name of the program, or what it exports by that name. To try one that is not declared costs
// more than all else in a message: after the program has run, only the global object can get it.
function readerOf(name, read) {
    if (name in globalThis) return read;
    try {
        read();
        return read;
    } catch (error) {
        if (!endsWith(error.message, ' is not defined')) return read; // declared, and not yet initialised
    }
    const { exports } = moduleObject;
    if (isObject(exports) && hasOwn(exports, name)) return () => moduleObject.exports[name];
    if (typeof exports === 'function' && exports.name === name) return () => exports;
    return () => (name in globalThis ? read() : UNSET);
}

function shareEnvironment() {
    const environment = register(process.env, 1, 'o');
    environment.state = { items: [], properties: [], level: 1 };
    environment.prototype = getPrototypeOf(process.env);
}

// Methods that the program gave to builtins: [path, key, method, ...].
const extensible = []; // with how many properties they had

function additions() {
    const found = [];
    for (let i = 0; i < extensible.length; i++) {
        const { path, object, count } = extensible[i];
        const keys = getOwnPropertyNames(object);
        for (let j = count; j < keys.length; j++) {
            const value = getOwnPropertyDescriptor(object, keys[j])?.value;
            if (typeof value === 'function') push(found, path, keys[j], value);
        }
    }
    return found;
}

// --- the side of the tests ----------------------------------------------------------------------

const programNames = { __proto__: null }; // the program's names, and what they stand for
let programExports;
let plan;
let current = 0; // the running test
let failure = ''; // of the running test

function takeName(name, value) {
    if (!isJudge) {
        const [owner, key] = split(name, '.');
        if (owner === 'globalThis') hide(globalThis, key, value);
        else (owner === 'stdout' ? process.stdout : builtinsByPath[owner])[key] = value;
        return;
    }
    if (name === 'module.exports') programExports = fence(value);
    else if (arrayIndexOf(plan.words, name) >= 0) defineName(name, fence(value));
}

function defineName(name, value) {
    const isNew = !(name in programNames);
    programNames[name] = value;
    if (!isNew) return;
    defineProperty(globalThis, name, {
        get: () => programNames[name],
        set: (changed) => {
            programNames[name] = changed;
            ask(`"set",${jsonStringify(name)},${code(changed)}`);
        },
        enumerable: false,
        configurable: true,
    });
}

// Before the tests: asks the program for its names. `plan` has `tests`, `words` that both the tests
// and the program use, `lent` names of the tests that the program uses, `entry`, `runner`.
function prepare(text) {
    isJudge = true;
    sign = 1;
    given = 1;
    plan = jsonParse(text);
    plan.words = plan.words.filter((word) => !(word in globalThis) || arrayIndexOf(replaceable, word) >= 0);
    isCareful = arrayIndexOf(plan.kinds, 'accessors') >= 0;
    keepsAll = arrayIndexOf(plan.kinds, 'weak') >= 0;
    if (arrayIndexOf(plan.kinds, 'env') >= 0) shareEnvironment();
    for (let i = 0; i < plan.shared.length; i++) {
        const [owner, key] = split(plan.shared[i], '.');
        const object = owner === 'stdout' ? process.stdout : globalThis[owner];
        push(cells, { name: `${owner}.${key}`, read: () => object[key], last: object[key] });
    }
    for (let i = 0; i < plan.assigned.length; i++) {
        const name = plan.assigned[i];
        push(cells, { name: `globalThis.${name}`, read: () => (hasOwn(globalThis, name) ? globalThis[name] : UNSET), last: UNSET });
    }
    for (let i = 0; i < plan.lent.length; i++) {
        push(cells, { name: `globalThis.${plan.lent[i]}`, read: indirectEval(`() => ${plan.lent[i]}`), last: UNSET });
    }
    ownModule = { get exports() { return programModule(); } };
    for (let i = 0; i < plan.runner.length; i++) hide(globalThis, plan.runner[i], runnerGlobals[plan.runner[i]]);
    const added = ask(`"names",${jsonStringify(plan.words)},${jsonStringify(plan.kinds)}`) ?? [];
    for (let i = 0; i < added.length; i += 3) {
        const object = builtinsByPath[added[i]];
        if (arrayIndexOf(passable, object) >= 0 && !(added[i + 1] in object) && arrayIndexOf(protocols, added[i + 1]) < 0) hide(object, added[i + 1], added[i + 2]);
    }
}

// Names by which the language itself asks an object for something.
const protocols = ['toJSON', 'then', 'next', 'return', 'throw', 'done', 'get', 'set', 'has', 'keys', 'size', 'value', 'writable', 'enumerable', 'raw', 'exec',
    'configurable', 'length', 'index', 'groups', 'flags', 'global', 'name', 'message', 'cause', 'errors', 'code', 'asymmetricMatch', 'default'];

// The program as a module: what it exports, and its names where it exports nothing by them.
function programModule() {
    const made = isObject(programExports) ? programExports : {};
    const own = objectKeys(made);
    for (let i = 0; i < own.length; i++) {
        const value = getOwnPropertyDescriptor(made, own[i])?.value;
        if (fence(value) !== value) made[own[i]] = fence(value);
    }
    const names = objectKeys(programNames);
    for (let i = 0; i < names.length; i++) {
        if (!(names[i] in made) && isExtensible(made)) hide(made, names[i], programNames[names[i]]);
    }
    if (plan.whole in programNames && !('default' in made) && isExtensible(made)) hide(made, 'default', programNames[plan.whole]);
    return made;
}

// Runs all tests, one after another, and tells the host of each as soon as it has ended.
function judge() {
    for (let i = 0; i < plan.tests.length; i++) {
        if (i === 0 || plan.isAssertDeclared) defineProperty(globalThis, 'assert', knownAssert);
        failedAssertions = 0;
        lost = [];
        firstFailure = failure = '';
        process.exitCode = undefined;
        current = i;
        if (awaited.length > 0) awaited = [];
        if (i === 0 || plan.runner.length > 0) beginSuite(arrayIndexOf(plan.needsRunner, i) >= 0);
        let value;
        try {
            value = arrayIndexOf(plan.awaits, i) >= 0 ? host.script(plan.tests[i]) : indirectEval(plan.tests[i]);
        } catch (error) {
            failure = explain(error) || 'Error';
        }
        host.settle();
        const reason = failure || verdict(value) || suiteVerdict() || exitVerdict() || (lost.length > 0 ? explain(lost[0]) || 'Error' : '');
        flush();
        if (reason === '' && plan.isExpression) host.verdict(`=${plainly(arrayIndexOf(plan.awaits, i) >= 0 ? innerOf(value) : value)}`);
        else if (reason === '') host.verdict();
        else host.verdict(`!${reason}`);
    }
}

// For tests that take it for granted.
const knownAssert = {
    __proto__: null,
    get: () => require('assert'),
    set: (value) => hide(globalThis, 'assert', value),
    configurable: true,
};

// The line of the running test that calls what asks for it.
function lineOfTest() {
    const found = isJudge ? /(?:<input>|test\.js):(\d+)/.exec(new PrimordialError().stack) : null;
    if (found === null) return '';
    const line = split(plan.tests[current], '\n')[found[1] - 1] ?? '';
    return slice((found[1] === '1' && startsWith(line, '{') ? slice(line, 1) : line).trim(), 0, 200);
}

function note(reason) {
    if (failure === '') failure = reason || 'the test failed';
}

// '' or why a test failed that ended by itself. `value` is its completion value.
function verdict(value) {
    if (failedAssertions > 0) return firstFailure;
    const isLeft = isPending(value) || isPending(innerOf(value)) || (awaited.length > 0 && awaited.some((waiting) => !waiting.isOver));
    return isLeft ? 'a promise of the test was never settled' : '';
}

// What a test does that ends as a program of its own does.
function exitVerdict() {
    if (listenersOf(process, 'exit').length + listenersOf(process, 'beforeExit').length > 0) try {
        if (process.emit('beforeExit', toNumber(process.exitCode ?? 0))) host.settle();
        if (failure !== '') return failure;
        process.emit('exit', toNumber(process.exitCode ?? 0));
    } catch (error) {
        return explain(error) || 'Error';
    } finally {
        process.removeAllListeners('exit');
        process.removeAllListeners('beforeExit');
    }
    if (failedAssertions > 0) return firstFailure;
    const code = process.exitCode === undefined ? 0 : toNumber(process.exitCode ?? 0);
    return code === 0 ? '' : `the test ended with the exit code ${code}`;
}

// A test that awaits gives a promise of an object that holds its completion value.
function innerOf(value) {
    const result = isObject(value) && isPromise(value) && !isPending(value) ? host.promiseResult(value) : undefined;
    return isObject(result) && hasOwn(result, 'value') ? result.value : undefined;
}

const isPending = (value) => isObject(value) && isPromise(value) && host.promiseState(value) === 0;

// The first lines of an error: what a test's report shows of an exception.
function explain(error) {
    try {
        if (!isObject(error) || !isError(error)) return `Uncaught ${inspect(error)}`;
        return slice(errorHeader(error), 0, 2000) || 'Error';
    } catch {
        return 'an error that cannot be shown';
    }
}

// The value of an expression as JSON for the host, with NaN and Infinity; else why it is none.
const MOST_PARTS = 2000000;

function plainly(value, otherPrototype = null) {
    const state = { left: MOST_PARTS, within: [], otherPrototype };
    try {
        return `=${plain(value, state)}`;
    } catch (error) {
        return `!${error instanceof PrimordialRangeError ? 'it is nested too deeply' : error.message}`;
    }
}

function plain(value, state) {
    if (--state.left < 0) throw new PrimordialError('it is too large');
    if (typeof value === 'string' || typeof value === 'boolean' || value === null) return jsonStringify(value);
    if (typeof value === 'number') return plainNumber(value);
    if (!isObject(value)) throw new PrimordialError(`it holds ${value === undefined ? 'undefined' : `a ${typeof value}`}`);
    const prototype = getPrototypeOf(value);
    if (typeof value === 'function') throw new PrimordialError('it holds a function');
    if (isArray(value) ? prototype !== ArrayPrototype : prototype !== ObjectPrototype && prototype !== state.otherPrototype) {
        throw new PrimordialError(`it holds ${prototype !== null && builtinPaths.has(prototype) ? `a ${constructorName(value)}` : 'an object of a class'}`);
    }
    if (objectTag(value) === '[object Arguments]') throw new PrimordialError('it holds arguments');
    if (arrayIndexOf(state.within, value) >= 0) throw new PrimordialError('it holds itself');
    push(state.within, value);
    const keys = ownKeys(value);
    let text = '';
    if (isArray(value)) {
        if (keys.length !== value.length + 1) throw new PrimordialError('it holds an array with holes or keys');
        for (let i = 0; i < value.length; i++) text += `${i > 0 ? ',' : ''}${plain(value[i], state)}`;
        text = `[${text}]`;
    } else {
        for (let i = 0; i < keys.length; i++) {
            if (!isEnumerable(value, keys[i])) continue;
            if (typeof keys[i] === 'symbol') throw new PrimordialError('it holds a symbol');
            text += `${text === '' ? '' : ','}${jsonStringify(keys[i])}:${plain(value[keys[i]], state)}`;
        }
        text = `{${text}}`;
    }
    state.within.length -= 1;
    return text;
}

// Integers that are rounded are no integers to the host.
function plainNumber(value) {
    if (value === 0) return 1 / value < 0 ? '-0.0' : '0';
    return value - value === 0 && abs(value) > 2 ** 53 && !includes(`${value}`, 'e') ? `${value}.0` : `${value}`;
}

// Names of this side that a program may have declared anew: its own are meant then.
const replaceable = ['URL', 'URLSearchParams', 'Event', 'CustomEvent', 'EventTarget', 'AbortController', 'AbortSignal', 'TextEncoder',
    'TextDecoder', 'Buffer', 'structuredClone', 'performance', 'DOMException', 'crypto', 'queueMicrotask', 'module', 'exports', 'Intl',
    'describe', 'it', 'test', 'suite', 'specify', 'expect', 'jest', 'vi', 'mock', 'before', 'after', 'beforeAll', 'afterAll',
    'beforeEach', 'afterEach', 'Iterator', 'escape', 'unescape', 'gc', 'print', 'navigator', 'atob', 'btoa'];
