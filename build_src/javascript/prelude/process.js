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
        isTTY: false,
        columns: 80,
        fd: descriptor,
    };
}

class Input extends EventEmitter {
    fd = 0;

    isTTY = false;

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
            hide(this, 'left', host.stdin());
            if (this.listenerCount('data') > 0 && this.left !== '') this.emit('data', this.read());
            else this.emit('readable');
            this.emit('readable');
            this.emit('end');
            this.emit('close');
        });
        return this;
    }

    read() {
        const text = this.left ?? host.stdin();
        hide(this, 'left', '');
        return text === '' ? null : text;
    }

    setEncoding() { return this; }

    pause() { return this; }

    async* [PrimordialSymbol.asyncIterator]() {
        const text = this.read();
        if (text !== null) yield text;
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
    stdin: new Input(),
    exit,
    abort: () => exit(134),
    cwd: () => '/',
    nextTick,
    hrtime,
    uptime: () => (now() - start) / 1000,
    memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
    emitWarning: (text) => write(2, `(node:1) Warning: ${toText(text?.message ?? text)}\n`),
};
for (const name of objectKeys(processProperties)) process[name] = processProperties[name];
defineProperty(process, PrimordialSymbol.toStringTag, { value: 'process', configurable: true });
