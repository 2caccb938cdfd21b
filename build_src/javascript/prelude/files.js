// `fs`: standard input, and files that live in the memory of this run alone.

let inputTaken = false;

// What is left of stdin: the first reader takes it all.
function takeInput(read) {
    if (inputTaken) return undefined;
    inputTaken = true;
    return read();
}

const inputText = () => takeInput(host.stdin) ?? '';

function inputBuffer() {
    const bytes = takeInput(host.stdinBytes);
    if (bytes === undefined) return Buffer.alloc(0);
    const made = asBuffer(bytes);
    // Decoding here would be slow.
    hide(made, 'toString', (name) => (encodingNamed(name) === 'utf8' ? host.stdin() : textOfBytes(made, name)));
    return made;
}

const errorNumbers = { __proto__: null, ENOENT: [-2, 'no such file or directory'], EEXIST: [-17, 'file already exists'],
    ENOTDIR: [-20, 'not a directory'], EISDIR: [-21, 'illegal operation on a directory'], ENOTEMPTY: [-39, 'directory not empty'] };

function fileError(code, call, path) {
    const [errno, text] = errorNumbers[code];
    const place = path === undefined ? '' : ` '${path}'`;
    return Object.assign(new PrimordialError(`${code}: ${text}, ${call}${place}`), { errno, code, syscall: call, ...(path !== undefined && { path }) });
}

const files = new PrimordialMap([['/', undefined], ['/tmp', undefined]]); // bytes by path; a directory has none
const fullPath = (path) => require('path').resolve('/', isObject(path) ? lazy('url').percentDecoded(path.pathname ?? toText(path)) : path);
const standardPaths = { __proto__: null, 0: 0, 1: 1, 2: 2, '/dev/stdin': 0, '/dev/stdout': 1, '/dev/stderr': 2 };

class Stats {
    constructor(bytes) {
        Object.assign(this, { size: bytes?.length ?? 4096, mode: bytes ? 33188 : 16877 });
        hide(this, 'isDirectory', () => bytes === undefined);
        hide(this, 'isFile', () => bytes !== undefined);
        hide(this, 'isSymbolicLink', () => false);
        this.mtime = this.ctime = this.atime = this.birthtime = new Date();
        this.mtimeMs = this.ctimeMs = this.atimeMs = this.birthtimeMs = dateTime(this.mtime);
    }
}

const fileCalls = {
    readFile(path, options) {
        const encoding = isObject(options) ? options.encoding : options;
        if (standardPaths[path] === 0) {
            if (encoding && encodingNamed(encoding) === 'utf8') return inputText();
            const bytes = inputBuffer();
            return encoding ? textOfBytes(bytes, encoding) : bytes;
        }
        const bytes = found('open', path);
        if (bytes === undefined) throw fileError('EISDIR', 'read');
        return encoding ? textOfBytes(bytes, encoding) : Buffer.from(bytes);
    },
    writeFile(path, data, options) {
        const encoding = isObject(options) ? options.encoding : options;
        const bytes = bytesOf(typeof data === 'number' ? toText(data) : data, encoding);
        if (bytes === undefined) throw wrongArgument('"data"', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
        if (standardPaths[path] > 0) {
            write(standardPaths[path], typeof data === 'string' ? data : decodeText(bytes));
            return;
        }
        const full = fullPath(path);
        checkParent('open', full, path);
        if (mapHas(files, full)) {
            if (mapGet(files, full) === undefined) throw fileError('EISDIR', 'open', path);
            if (isObject(options) && startsWith(toText(options.flag), 'wx')) throw fileError('EEXIST', 'open', path);
        }
        const before = isObject(options) && options.flag === 'a' ? [mapGet(files, full) ?? ''] : [];
        mapSet(files, full, Buffer.concat([...before.map((part) => bytesOf(part)), bytes]));
    },
    appendFile(path, data, options) {
        fileCalls.writeFile(path, data, { encoding: isObject(options) ? options.encoding : options, flag: 'a' });
    },
    copyFile(from, to) { fileCalls.writeFile(to, fileCalls.readFile(from)); },
    rename(from, to) {
        fileCalls.copyFile(from, to);
        files.delete(fullPath(from));
    },
    unlink(path) {
        if (found('unlink', path) === undefined) throw fileError('EISDIR', 'unlink', path);
        files.delete(fullPath(path));
    },
    rm(path, options) {
        const full = fullPath(path);
        if (!mapHas(files, full) && options?.force) return;
        found('rm', path);
        for (const known of [...files.keys()]) if (known === full || startsWith(known, `${full}/`)) files.delete(known);
    },
    rmdir(path) {
        if (fileCalls.readdir(path).length > 0) throw fileError('ENOTEMPTY', 'rmdir', path);
        files.delete(fullPath(path));
    },
    mkdir(path, options) {
        const full = fullPath(path);
        if (mapHas(files, full)) {
            if (options?.recursive) return;
            throw fileError('EEXIST', 'mkdir', path);
        }
        const parent = require('path').dirname(full);
        if (options?.recursive) fileCalls.mkdir(parent, options);
        checkParent('mkdir', full, path);
        mapSet(files, full, undefined);
    },
    mkdtemp(prefix) {
        const path = `${prefix}${floor(random() * 2 ** 30).toString(36).padStart(6, '0')}`;
        fileCalls.mkdir(path);
        return path;
    },
    readdir(path) {
        if (found('scandir', path) !== undefined) throw fileError('ENOTDIR', 'scandir', path);
        const start = fullPath(path).replace(/\/?$/, '/');
        const names = [...files.keys()].filter((name) => startsWith(name, start) && name.length > start.length);
        return names.map((name) => slice(name, start.length)).filter((name) => !includes(name, '/')).sort();
    },
    stat: (path) => new Stats(found('stat', path)),
    lstat: (path) => new Stats(found('lstat', path)),
    access(path) { found('access', path); },
};

function found(call, path) {
    const full = fullPath(path);
    if (mapHas(files, full)) return mapGet(files, full);
    throw fileError('ENOENT', call, path);
}

function checkParent(call, full, path) {
    const parent = require('path').dirname(full);
    if (!mapHas(files, parent)) throw fileError('ENOENT', call, path);
    if (mapGet(files, parent) !== undefined) throw fileError('ENOTDIR', call, path);
}

// Each call in its three forms.
function makeFs() {
    const fs = { promises: {}, constants: { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 } };
    for (const name of objectKeys(fileCalls)) {
        const call = fileCalls[name];
        fs[`${name}Sync`] = call;
        fs.promises[name] = async (...values) => {
            await new PrimordialPromise((done) => { setImmediate(done); });
            return call(...values);
        };
        fs[name] = (...values) => {
            const done = checked(values.pop());
            let result;
            try {
                result = call(...values);
            } catch (error) {
                setImmediate(done, error);
                return;
            }
            setImmediate(done, null, result);
        };
    }
    fs.existsSync = (path) => standardPaths[path] !== undefined || mapHas(files, fullPath(path));
    fs.exists = (path, done) => { setImmediate(done, fs.existsSync(path)); };
    fs.writeSync = (descriptor, text) => {
        write(descriptor === 2 ? 2 : 1, typeof text === 'string' ? text : decodeText(text));
        return text.length;
    };
    fs.fsyncSync = () => {};
    fs.createReadStream = (path) => {
        if (standardPaths[path] === 0) return process.stdin;
        return new Input(() => fileCalls.readFile(path));
    };
    return fs;
}
