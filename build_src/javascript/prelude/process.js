// The global `process`.

const start = now();
const process = new EventEmitter();

function stream(descriptor) {
    return {
        write: (text, ...rest) => {
            write(descriptor, typeof text === 'string' ? text : decodeText(text));
            const done = rest[rest.length - 1];
            if (typeof done === 'function') nextTick(done);
            return true;
        },
        end: (text) => { if (text !== undefined) write(descriptor, toText(text)); },
        on() { return this; },
        once() { return this; },
        isTTY: undefined,
        writable: true,
        removeListener() { return this; },
        emit: () => false,
        fd: descriptor,
    };
}

// Text that a program reads as a stream: stdin, or a file.
class Input extends EventEmitter {
    fd = 0;

    isTTY = undefined;

    constructor(take) {
        super();
        hide(this, 'take', take);
    }

    on(event, listener) {
        super.on(event, listener);
        if (event === 'data') this.resume();
        else if ((event === 'readable' || event === 'end') && !this.started) this.resume();
        return this;
    }

    resume() {
        if (this.started) return this;
        hide(this, 'started', true);
        setImmediate(() => {
            if (this.listenerCount('data') > 0) {
                const chunk = this.read();
                if (chunk !== null) this.emit('data', chunk);
            } else {
                this.emit('readable');
            }
            this.emit('readable');
            this.emit('end');
            this.emit('close');
        });
        return this;
    }

    read() {
        if (this.taken) return null;
        hide(this, 'taken', true);
        const bytes = this.take();
        if (bytes.length === 0) return null;
        return this.encoding === undefined ? bytes : bytes.toString(this.encoding);
    }

    setEncoding(name) {
        hide(this, 'encoding', encodingNamed(name));
        return this;
    }

    pause() { return this; }

    unref() { return this; }

    ref() { return this; }

    destroy() { return this; }

    pipe(target) {
        this.on('data', (chunk) => target.write(chunk));
        return target;
    }

    async* [PrimordialSymbol.asyncIterator]() {
        const chunk = this.read();
        if (chunk !== null) yield chunk;
    }
}

function exit(code) {
    if (code !== undefined) process.exitCode = code;
    process.emit('exit', toNumber(process.exitCode ?? 0));
    flush();
    host.exit(toNumber(process.exitCode ?? 0));
}

const hrtime = (since) => {
    const elapsed = now() - start;
    let seconds = floor(elapsed / 1000);
    let nanoseconds = floor((elapsed % 1000) * 1e6);
    if (since !== undefined) {
        seconds -= since[0];
        nanoseconds -= since[1];
        if (nanoseconds < 0) {
            seconds -= 1;
            nanoseconds += 1e9;
        }
    }
    return [seconds, nanoseconds];
};
hrtime.bigint = () => BigInt(floor((now() - start) * 1e6));

const processProperties = {
    title: 'node',
    version: 'v20.0.0',
    versions: { node: '20.0.0' },
    arch: 'wasm32',
    platform: 'linux',
    pid: 1,
    argv: ['/usr/bin/node', '/main.js'],
    execArgv: [],
    env: {},
    exitCode: undefined,
    stdout: stream(1),
    stderr: stream(2),
    stdin: new Input(inputBuffer),
    exit,
    abort: () => exit(134),
    cwd: () => '/',
    nextTick,
    hrtime,
    uptime: () => (now() - start) / 1000,
    // Round figures: what the engine holds is not told to programs.
    memoryUsage: () => ({ rss: 67108864, heapTotal: 16777216, heapUsed: 8388608, external: 1048576, arrayBuffers: 16384 }),
    cpuUsage: () => ({ user: floor((now() - start) * 1000), system: 0 }),
    umask: () => 18,
    release: { name: 'node' },
    config: {},
    features: {},
    ppid: 0,
    emitWarning: (text) => write(2, `(node:1) Warning: ${toText(text?.message ?? text)}\n`),
};
for (const name of objectKeys(processProperties)) process[name] = processProperties[name];
defineProperty(process, PrimordialSymbol.toStringTag, { value: 'process', configurable: true });
