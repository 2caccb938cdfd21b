// `require` and the modules behind it. Each is made on its first use.

// What a file returns that is compiled when it is first used, for few programs need it.
function lazy(file) {
    if (typeof lazySources[file] === 'string') lazySources[file] = eval(lazySources[file]);
    return lazySources[file];
}

// Bytes to text, keeping back what only later bytes complete.
class StringDecoder {
    #decoder;

    #encoding;

    constructor(encoding) {
        this.#encoding = encodingNamed(encoding);
        this.#decoder = this.#encoding === 'utf8' ? new TextDecoder() : undefined;
    }

    write(bytes) { return this.#decoder?.decode(bytes, { stream: true }) ?? textOfBytes(bytes, this.#encoding); }

    end(bytes) { return (bytes === undefined ? '' : this.write(bytes)) + (this.#decoder?.decode() ?? ''); }
}

const assertModule = makeAssert(false);
const makers = {
    __proto__: null,
    assert: () => assertModule,
    'assert/strict': () => assertModule.strict,
    util: makeUtil,
    events: makeEvents,
    fs: makeFs,
    readline: makeReadline,
    perf_hooks: () => ({ performance }),
    process: () => process,
    console: () => globalThis.console,
    'js-md5': () => md5,
    path: makePath,
    'path/posix': () => require('path').posix,
    buffer: () => ({ Buffer, atob, btoa, constants: { MAX_LENGTH: 4294967296, MAX_STRING_LENGTH: 536870888 } }),
    crypto: makeCrypto,
    url: () => lazy('url').makeUrl(),
    querystring: () => lazy('url').makeQuerystring(),
    string_decoder: () => ({ StringDecoder }),
    worker_threads: () => ({ isMainThread: true, parentPort: null, workerData: null, threadId: 0 }),
    os: makeOs,
    module: () => ({ createRequire: () => require, builtinModules: objectKeys(makers) }),
    'util/types': () => require('util').types,
    'fs/promises': () => require('fs').promises,
    'readline/promises': () => require('readline').promises,
    timers: () => ({ setTimeout, clearTimeout, setInterval, clearInterval: clearTimeout, setImmediate, clearImmediate: clearTimeout }),
    'timers/promises': () => ({
        setTimeout: (delay, value) => new PrimordialPromise((done) => { setTimeout(done, delay, value); }),
        setImmediate: (value) => new PrimordialPromise((done) => { setImmediate(done, value); }),
    }),
};
let loaded = new PrimordialMap();
const runners = { __proto__: null }; // modules that tests alone have
let ownModule; // the program, for its tests

function require(name) {
    if (typeof name !== 'string') {
        throw coded(new PrimordialTypeError(
            `The "id" argument must be of type string. Received ${received(name)}`), 'ERR_INVALID_ARG_TYPE');
    }
    if (ownModule !== undefined && patternTest(/^\.\.?\//, name)) return ownModule.exports;
    const plain = startsWith(name, 'node:') ? slice(name, 5) : name;
    const maker = makers[plain] ?? (ownModule === undefined ? undefined : runners[plain]);
    if (maker === undefined) {
        const error = new PrimordialError(`Cannot find module '${name}'\nRequire stack:\n- /main.js`);
        coded(error, 'MODULE_NOT_FOUND');
        error.requireStack = ['/main.js'];
        throw error;
    }
    if (!mapHas(loaded, plain)) mapSet(loaded, plain, maker());
    return mapGet(loaded, plain);
}

function makeUtil() {
    const promisified = PrimordialSymbol.for('nodejs.util.promisify.custom');
    const promisify = (original) => {
        checkedBody(original);
        if (original[promisified]) return original[promisified];
        return function (...values) {
            return new PrimordialPromise((resolve, reject) => {
                const done = (error, value) => (error ? reject(error) : resolve(value));
                apply(original, this, [...values, done]);
            });
        };
    };
    promisify.custom = promisified;
    setTimeout[promisified] = (delay, value) => new PrimordialPromise((done) => { setTimeout(done, delay, value); });
    return {
        format,
        inspect,
        promisify,
        callbackify: (original) => (...values) => {
            const done = values.pop();
            promiseThen(original(...values), (value) => nextTick(done, null, value), (error) => nextTick(done, error));
        },
        inherits: (constructor, parent) => {
            if (typeof constructor !== 'function') throw wrongArgument('"ctor"', 'of type function', constructor);
            if (typeof parent !== 'function') throw wrongArgument('"superCtor"', 'of type function', parent);
            hide(constructor, 'super_', parent);
            Object.setPrototypeOf(constructor.prototype, parent.prototype);
        },
        deprecate,
        debuglog: () => () => {},
        stripVTControlCharacters: (text) => replace(text, /\u001b\[[0-9;]*[A-Za-z]/g, ''),
        toUSVString: (text) => textOfBytes(encodeText(toText(text))),
        isDeepStrictEqual: (a, b) => deepEqual(a, b, true),
        isArray,
        types: utilTypes(),
        TextEncoder,
        TextDecoder,
    };
}

// The first call says so on the error stream, as Node does.
function deprecate(original, text, code) {
    let told = false;
    return function (...values) {
        if (!told) write(2, `(node:1) ${code === undefined ? '' : `[${code}] `}DeprecationWarning: ${text}\n`);
        told = true;
        return new.target ? Reflect.construct(original, values, new.target) : apply(original, this, values);
    };
}

function utilTypes() {
    const tagged = (...tags) => (value) => isObject(value) && arrayIndexOf(tags, slice(objectTag(value), 8, -1)) >= 0;
    const types = {
        isDate, isMap, isPromise, isRegExp, isSet, isTypedArray, isWeakMap, isWeakSet, isArrayBuffer, isDataView,
        isNativeError: isError,
        isProxy: () => false, // QuickJS does not tell
        isAnyArrayBuffer: isArrayBuffer,
        isArrayBufferView: ArrayBuffer.isView,
        isGeneratorFunction: tagged('GeneratorFunction', 'AsyncGeneratorFunction'),
        isAsyncFunction: tagged('AsyncFunction', 'AsyncGeneratorFunction'),
        isGeneratorObject: tagged('Generator', 'AsyncGenerator'),
        isMapIterator: tagged('Map Iterator'),
        isSetIterator: tagged('Set Iterator'),
        isArgumentsObject: tagged('Arguments'),
        isBoxedPrimitive: (value) => isObject(value) && boxed(value) !== undefined,
    };
    for (let i = 0; i < unboxers.length; i++) types[`is${unboxers[i][0]}Object`] = unboxers[i][2];
    for (const name of ['Uint8Array', 'Uint8ClampedArray', 'Uint16Array', 'Uint32Array', 'Int8Array', 'Int16Array',
        'Int32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array']) {
        types[`is${name}`] = (value) => isTypedArray(value) && typedArrayName(value) === name;
    }
    return types;
}

// Chance comes from the generator behind Math.random, which the host seeds.
function makeCrypto() {
    const filled = (bytes) => {
        for (let i = 0; i < bytes.length; i++) bytes[i] = floor(random() * 256);
        return bytes;
    };
    const randomInt = (...values) => {
        const done = typeof values[values.length - 1] === 'function' ? values.pop() : undefined;
        const [low, high] = values.length > 1 ? values : [0, values[0]];
        if (!(high > low)) {
            throw coded(new PrimordialRangeError(`The value of "max" is out of range. It must be greater than the value of "min" (${low}). Received ${high}`), 'ERR_OUT_OF_RANGE');
        }
        const drawn = low + floor(random() * (high - low));
        if (done === undefined) return drawn;
        nextTick(done, null, drawn);
    };
    const randomUUID = () => {
        const bytes = filled(Buffer.alloc(16));
        bytes[6] = bytes[6] & 15 | 64;
        bytes[8] = bytes[8] & 63 | 128;
        const text = textOfBytes(bytes, 'hex');
        return join([slice(text, 0, 8), slice(text, 8, 12), slice(text, 12, 16), slice(text, 16, 20), slice(text, 20)], '-');
    };
    const webcrypto = {
        randomUUID,
        getRandomValues: (array) => {
            filled(bytesOf(array));
            return array;
        },
    };
    return {
        createHash: (name) => new Hash(hashNamed(name)),
        createHmac,
        pbkdf2Sync,
        getHashes: () => objectKeys(hashes),
        randomBytes: (size, done) => {
            const bytes = filled(Buffer.alloc(size));
            if (done === undefined) return bytes;
            nextTick(done, null, bytes);
        },
        randomInt,
        randomUUID,
        getRandomValues: webcrypto.getRandomValues,
        hash: (name, data, encoding = 'hex') => new Hash(hashNamed(name)).update(data).digest(encoding),
        timingSafeEqual: (a, b) => Buffer.compare(bytesOf(a), bytesOf(b)) === 0,
        webcrypto,
    };
}

function makeOs() {
    return {
        EOL: '\n',
        arch: () => process.arch,
        platform: () => process.platform,
        type: () => 'Linux',
        release: () => '',
        endianness: () => 'LE',
        hostname: () => 'localhost',
        homedir: () => '/',
        tmpdir: () => '/tmp',
        cpus: () => [],
        availableParallelism: () => 1,
        totalmem: () => 0,
        freemem: () => 0,
        loadavg: () => [0, 0, 0],
        uptime: () => process.uptime(),
    };
}

function listenersOf(emitter, event) {
    if (!hasOwn(emitter, '_events')) hide(emitter, '_events', new PrimordialMap());
    if (!mapHas(emitter._events, event)) mapSet(emitter._events, event, []);
    return mapGet(emitter._events, event);
}

class EventEmitter {
    on(event, listener) {
        if (listenersOf(this, 'newListener').length > 0) this.emit('newListener', event, listener);
        push(listenersOf(this, event), { listener: checked(listener), once: false });
        return this;
    }

    once(event, listener) {
        push(listenersOf(this, event), { listener: checked(listener), once: true });
        return this;
    }

    prependListener(event, listener) {
        splice(listenersOf(this, event), 0, 0, { listener: checked(listener), once: false });
        return this;
    }

    prependOnceListener(event, listener) {
        splice(listenersOf(this, event), 0, 0, { listener: checked(listener), once: true });
        return this;
    }

    off(event, listener) {
        const all = listenersOf(this, event);
        for (let i = all.length - 1; i >= 0; i--) {
            if (all[i].listener === listener) {
                splice(all, i, 1);
                break;
            }
        }
        return this;
    }

    emit(event, ...values) {
        if (event !== 'error' && !hasOwn(this, '_events')) return false;
        const all = arraySlice(listenersOf(this, event));
        if (all.length === 0 && event === 'error') {
            if (isObject(values[0]) && isError(values[0])) throw values[0];
            throw coded(new PrimordialError(`Unhandled error. (${inspect(values[0])})`), 'ERR_UNHANDLED_ERROR');
        }
        for (let i = 0; i < all.length; i++) {
            if (all[i].once) this.off(event, all[i].listener);
            apply(all[i].listener, this, values);
        }
        return all.length > 0;
    }

    removeAllListeners(event) {
        if (event === undefined) hide(this, '_events', new PrimordialMap());
        else listenersOf(this, event).length = 0;
        return this;
    }

    listenerCount(event) { return listenersOf(this, event).length; }

    listeners(event) {
        const found = [];
        const all = listenersOf(this, event);
        for (let i = 0; i < all.length; i++) push(found, all[i].listener);
        return found;
    }

    eventNames() {
        const names = [];
        if (hasOwn(this, '_events')) mapForEach(this._events, (all, name) => { if (all.length > 0) push(names, name); });
        return names;
    }

    rawListeners(event) { return this.listeners(event); }

    setMaxListeners(count) {
        hide(this, '_maxListeners', count);
        return this;
    }

    getMaxListeners() { return this._maxListeners ?? 10; }
}
hide(EventEmitter.prototype, 'addListener', EventEmitter.prototype.on);
hide(EventEmitter.prototype, 'removeListener', EventEmitter.prototype.off);

// The events of that name, one after another, until the emitter fails.
async function* eventsOf(emitter, event) {
    const waiting = [];
    let failed = false;
    let wake = () => {};
    const hear = (...values) => {
        push(waiting, values);
        wake();
    };
    const fail = (error) => {
        failed = true;
        hear(error);
    };
    emitter.on(event, hear);
    emitter.on('error', fail);
    try {
        for (;;) {
            if (waiting.length === 0) await new PrimordialPromise((done) => { wake = done; });
            const values = shift(waiting);
            if (failed && waiting.length === 0) throw values[0];
            yield values;
        }
    } finally {
        emitter.off(event, hear);
        emitter.off('error', fail);
    }
}

// Callable without `new`, because older code calls it as EventEmitter.call(this).
function makeEvents() {
    function Emitter() {}
    Emitter.prototype = EventEmitter.prototype;
    hide(Emitter.prototype, 'constructor', Emitter);
    defineProperty(Emitter, 'name', { value: 'EventEmitter' });
    Emitter.EventEmitter = Emitter;
    Emitter.defaultMaxListeners = 10;
    Emitter.on = eventsOf;
    Emitter.errorMonitor = PrimordialSymbol('events.errorMonitor');
    Emitter.listenerCount = (emitter, event) => emitter.listenerCount(event);
    Emitter.once = (emitter, event) => new PrimordialPromise((resolve, reject) => {
        emitter.once(event, (...values) => {
            emitter.off('error', reject);
            resolve(values);
        });
        if (event !== 'error') emitter.once('error', reject);
    });
    return Emitter;
}

function linesOf(text) {
    const lines = split(text, '\n');
    if (lines[lines.length - 1] === '') lines.length -= 1;
    for (let i = 0; i < lines.length; i++) if (endsWith(lines[i], '\r')) lines[i] = slice(lines[i], 0, -1);
    return lines;
}

function makeReadline() {
    class Interface extends EventEmitter {
        constructor(options) {
            super();
            const { input = options } = isObject(options) ? options : {};
            hide(this, 'source', instanceOf(Input, input) ? input : process.stdin);
            hide(this, 'lines', undefined);
            hide(this, 'asked', []);
            hide(this, 'closed', false);
            hide(this, 'pumping', false);
            this.#pump();
        }

        // One line a turn, while somebody listens: a program may attach its listener later.
        #pump() {
            if (this.pumping || this.closed) return;
            this.pumping = true;
            setImmediate(() => {
                this.pumping = false;
                if (this.closed) return;
                this.lines ??= linesOf(toText(this.source.read() ?? ''));
                if (this.lines.length === 0) {
                    this.close();
                    return;
                }
                if (this.asked.length > 0) {
                    const answer = shift(this.asked);
                    answer(shift(this.lines));
                } else if (this.listenerCount('line') > 0) {
                    this.emit('line', shift(this.lines));
                } else {
                    return;
                }
                this.#pump();
            });
        }

        on(event, listener) {
            super.on(event, listener);
            if (event === 'line') this.#pump();
            return this;
        }

        question(query, options, done) {
            write(1, toText(query));
            push(this.asked, done ?? options);
            this.#pump();
        }

        setPrompt(text) { hide(this, 'promptText', text); }

        getPrompt() { return this.promptText ?? '> '; }

        prompt() { write(1, this.promptText ?? '> '); }

        close() {
            if (this.closed) return;
            this.closed = true;
            this.emit('close');
        }

        pause() { return this; }

        resume() { return this; }

        write() {}

        async* [PrimordialSymbol.asyncIterator]() {
            this.lines ??= linesOf(toText(this.source.read() ?? ''));
            while (this.lines.length > 0) yield shift(this.lines);
            this.close();
        }
    }
    hide(Interface.prototype, 'addListener', Interface.prototype.on);
    const createInterface = (...values) => new Interface(...values);
    class Asking extends Interface {
        question(query) {
            return new PrimordialPromise((done) => { super.question(query, done); });
        }
    }
    return { createInterface, Interface, promises: { createInterface: (...values) => new Asking(...values), Interface: Asking } };
}
