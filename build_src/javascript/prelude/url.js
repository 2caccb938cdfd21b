// URL and URLSearchParams (WHATWG URL Standard). Host names beyond ASCII are refused.

const defaultPorts = { __proto__: null, 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };
const isSpecial = (url) => defaultPorts[url.protocol] !== undefined;

// What is percent-encoded in each place, besides controls and everything beyond ASCII.
const fragmentSet = ' "<>`';
const querySet = ' "#<>';
const pathSet = ' "#<>?`{}';
const userSet = `${pathSet}/:;=@[\\]^|`;

function percentEncoded(text, set) {
    let encoded = '';
    for (const letter of text) {
        const code = letter.codePointAt(0);
        if (code > 31 && code < 127 && !set.includes(letter)) {
            encoded += letter;
            continue;
        }
        for (const byte of encodeText(letter)) encoded += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    }
    return encoded;
}

const percentDecoded = (text) => decodeText(new PrimordialUint8Array(percentBytes(text)), false, true);

function percentBytes(text) {
    const bytes = [];
    const source = encodeText(text);
    for (let i = 0; i < source.length; i++) {
        const pair = fromCharCode(source[i + 1], source[i + 2]);
        const isEscape = source[i] === 37 && /^[0-9a-f]{2}$/i.test(pair);
        bytes.push(isEscape ? parseInteger(pair, 16) : source[i]);
        if (isEscape) i += 2;
    }
    return bytes;
}

// The parts of a URL, of text that may be relative to `base`; undefined where it is not one.
function parsedUrl(text, base) {
    text = text.replace(/^[\0- ]+|[\0- ]+$/g, '').replace(/[\t\n\r]/g, '');
    const url = { protocol: '', username: '', password: '', host: null, port: '', path: [], opaque: false, query: null, fragment: null };
    const hash = text.indexOf('#');
    if (hash >= 0) {
        url.fragment = percentEncoded(text.slice(hash + 1), fragmentSet);
        text = text.slice(0, hash);
    }
    const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text);
    if (scheme) {
        url.protocol = scheme[0].toLowerCase();
        text = text.slice(scheme[0].length);
    } else if (base === undefined || (base.opaque && (text !== '' || hash < 0))) {
        return undefined;
    } else {
        url.protocol = base.protocol;
    }
    const mark = text.indexOf('?');
    if (mark >= 0) {
        setQuery(url, text.slice(mark + 1));
        text = text.slice(0, mark);
    }
    if (isSpecial(url)) text = text.replace(/\\/g, '/');
    const isRelative = base !== undefined && base.protocol === url.protocol && !base.opaque && (!scheme || isSpecial(url));
    if (scheme && isSpecial(url) && url.protocol !== 'file:' && !(isRelative && !text.startsWith('/'))) {
        text = text.replace(/^\/*/, '//');
    }
    if (base?.opaque && !scheme) return Object.assign(url, { path: base.path, opaque: true, query: base.query });
    return placed(url, text, isRelative ? base : undefined, mark >= 0) ? url : undefined;
}

function setQuery(url, text) { url.query = percentEncoded(text, isSpecial(url) ? `${querySet}'` : querySet); }

// Reads authority and path from the middle of a URL.
function placed(url, text, base, hasQuery) {
    const isFile = url.protocol === 'file:';
    if (text.startsWith('//')) {
        const end = text.indexOf('/', 2);
        const authority = end < 0 ? text.slice(2) : text.slice(2, end);
        const isDrive = isFile && /^[a-z][:|]$/i.test(authority);
        if (isDrive) url.host = '';
        else if (!setAuthority(url, authority)) return false;
        setPath(url, isDrive ? text.slice(1) : end < 0 ? '' : text.slice(end));
        return true;
    }
    if (base !== undefined) {
        for (const part of ['username', 'password', 'host', 'port']) url[part] = base[part];
        if (text.startsWith('/')) {
            setPath(url, text);
        } else if (text === '') {
            url.path = base.path.slice();
            if (!hasQuery) url.query = base.query;
        } else {
            setPath(url, text, base.path.slice(0, -1));
        }
        return true;
    }
    if (isFile) url.host = '';
    if (isFile || text.startsWith('/')) {
        setPath(url, text);
    } else {
        url.opaque = true;
        url.path = percentEncoded(text, '');
    }
    return true;
}

function setAuthority(url, text) {
    const at = text.lastIndexOf('@');
    if (at >= 0) {
        const [name, ...secret] = text.slice(0, at).split(':');
        url.username = percentEncoded(name, userSet);
        url.password = percentEncoded(secret.join(':'), userSet);
        if (text.length === at + 1 || url.protocol === 'file:') return false;
    }
    return setHost(url, text.slice(at + 1));
}

function setHost(url, text) {
    const found = /^(\[[^\]]*\]|[^:]*)(?::([0-9]*))?$/.exec(text);
    if (found === null || (found[2] !== undefined && url.protocol === 'file:')) return false;
    const host = parsedHost(found[1], isSpecial(url));
    if (host === undefined || (host === '' && (url.protocol === 'file:' ? false : isSpecial(url) || found[2] !== undefined))) return false;
    if (+(found[2] ?? 0) > 65535) return false;
    url.host = url.protocol === 'file:' && host === 'localhost' ? '' : host;
    if (found[2] !== undefined) setPort(url, found[2]);
    return true;
}

function setPort(url, digits) {
    const port = digits === '' ? '' : toText(+digits);
    url.port = port === defaultPorts[url.protocol] ? '' : port;
}

function parsedHost(text, special) {
    if (text.startsWith('[')) return ipv6(text.slice(1, -1));
    if (!special) return /[\0\t\n\r #/<>?@[\\\]^|]/.test(text) ? undefined : percentEncoded(text, '');
    const host = percentDecoded(text).toLowerCase();
    if (/[\0- "#%/:<>?@[\\\]^`{|}\x7f-\uffff]/.test(host)) return undefined;
    const labels = host.split('.');
    if (labels.at(-1) === '' && labels.length > 1) labels.pop();
    return /^([0-9]+|0x[0-9a-f]*)$/.test(labels.at(-1)) ? ipv4(labels) : host;
}

function ipv4(labels) {
    const numbers = labels.map((label) => {
        if (/^0x[0-9a-f]*$/.test(label)) return label === '0x' ? 0 : parseInteger(label, 16);
        if (/^0[0-7]+$/.test(label)) return parseInteger(label, 8);
        return /^(0|[1-9][0-9]*)$/.test(label) ? +label : NaN;
    });
    const last = numbers.pop();
    if (numbers.length > 3 || !(last < 256 ** (4 - numbers.length)) || numbers.some((number) => !(number < 256))) return undefined;
    let address = last;
    numbers.forEach((number, i) => { address += number * 256 ** (3 - i); });
    return [24, 16, 8, 0].map((shift) => floor(address / 2 ** shift) % 256).join('.');
}

function ipv6(text) {
    const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
    if (tail !== null) {
        const bytes = tail[2].split('.');
        if (bytes.some((byte) => +byte > 255 || /^0\d/.test(byte))) return undefined;
        text = `${tail[1]}${(bytes[0] * 256 + +bytes[1]).toString(16)}:${(bytes[2] * 256 + +bytes[3]).toString(16)}`;
    }
    const halves = text.split('::');
    const [head, end] = halves.map((half) => (half === '' ? [] : half.split(':')));
    const missing = 8 - head.length - (end?.length ?? 0);
    if (halves.length > 2 || (end === undefined ? missing !== 0 : missing < 1)) return undefined;
    const pieces = [...head, ...Array(missing).fill('0'), ...(end ?? [])];
    if (pieces.some((piece) => !/^[0-9a-f]{1,4}$/i.test(piece))) return undefined;
    const short = pieces.map((piece) => parseInteger(piece, 16).toString(16));
    let [from, size] = [0, 1];
    for (let i = 0; i < 8; i++) {
        let run = 0;
        while (short[i + run] === '0') run++;
        if (run > size) [from, size] = [i, run];
    }
    if (size === 1) return `[${short.join(':')}]`;
    return `[${short.slice(0, from).join(':')}::${short.slice(from + size).join(':')}]`;
}

function setPath(url, text, path = []) {
    if (text === '' && path.length === 0) {
        url.path = isSpecial(url) ? [''] : [];
        return;
    }
    const segments = (text.startsWith('/') ? text.slice(1) : text).split('/');
    segments.forEach((segment, i) => {
        const plain = segment.replace(/%2e/gi, '.');
        if (plain === '..') {
            if (!(url.protocol === 'file:' && path.length === 1 && /^[a-z]:$/i.test(path[0]))) path.pop();
        } else if (plain !== '.') {
            const isDrive = url.protocol === 'file:' && path.length === 0 && /^[a-z]\|$/i.test(segment);
            path.push(isDrive ? `${segment[0]}:` : percentEncoded(segment, pathSet));
            return;
        }
        if (i === segments.length - 1) path.push('');
    });
    url.path = path;
}

const pathText = (url) => (url.opaque ? url.path : url.path.map((segment) => `/${segment}`).join(''));
const hostText = (url) => (url.port === '' ? url.host ?? '' : `${url.host}:${url.port}`);

function urlText(url) {
    let text = url.protocol;
    if (url.host !== null) {
        const secret = url.password === '' ? '' : `:${url.password}`;
        text += `//${url.username}${secret}${url.username === '' && secret === '' ? '' : '@'}${hostText(url)}`;
    } else if (!url.opaque && url.path.length > 1 && url.path[0] === '') {
        text += '/.';
    }
    return `${text}${pathText(url)}${url.query === null ? '' : `?${url.query}`}${url.fragment === null ? '' : `#${url.fragment}`}`;
}

// Spaces are "+" here, and only these letters stand for themselves.
const formEncoded = (text) => percentEncoded(text, ' !"#$%&\'()+,/:;<=>?@[\\]^`{|}~').replace(/%20/g, '+');
const formDecoded = (text) => percentDecoded(text.replace(/\+/g, ' '));

class URLSearchParams {
    #pairs = [];

    #told; // the URL's part, which hears of changes

    constructor(source = '') {
        if (isObject(source) && typeof source[PrimordialSymbol.iterator] === 'function') {
            for (const pair of source) {
                if (!isObject(pair) || [...pair].length !== 2) {
                    throw coded(new PrimordialTypeError('Each query pair must be an iterable [name, value] tuple'), 'ERR_INVALID_TUPLE');
                }
                const [name, value] = pair;
                this.#pairs.push([wellFormed(name), wellFormed(value)]);
            }
        } else if (isObject(source)) {
            for (const name of ownKeys(source)) if (isEnumerable(source, name)) this.#pairs.push([wellFormed(name), wellFormed(source[name])]);
        } else {
            this.#read(toText(source).replace(/^\?/, ''));
        }
    }

    #read(text) {
        this.#pairs = text.split('&').filter((part) => part !== '').map((part) => {
            const [name, ...value] = part.split('=');
            return [formDecoded(name), formDecoded(value.join('='))];
        });
    }

    #change(pairs) {
        this.#pairs = pairs;
        this.#told?.(this.toString());
    }

    // For URL alone: ties the parameters to it.
    static #tie = (parameters, text, told) => {
        parameters.#told = told;
        parameters.#read(text);
    };

    static take() {
        delete URLSearchParams.take;
        return URLSearchParams.#tie;
    }

    get size() { return this.#pairs.length; }

    append(name, value) { this.#change([...this.#pairs, [wellFormed(name), wellFormed(value)]]); }

    delete(name, value) {
        this.#change(this.#pairs.filter((pair) => pair[0] !== toText(name) || (value !== undefined && pair[1] !== toText(value))));
    }

    get(name) { return this.#pairs.find((pair) => pair[0] === toText(name))?.[1] ?? null; }

    getAll(name) { return this.#pairs.filter((pair) => pair[0] === toText(name)).map((pair) => pair[1]); }

    has(name, value) { return this.#pairs.some((pair) => pair[0] === toText(name) && (value === undefined || pair[1] === toText(value))); }

    set(name, value) {
        const first = this.#pairs.findIndex((pair) => pair[0] === toText(name));
        if (first < 0) this.append(name, value);
        else {
            this.#change(this.#pairs.filter((pair, i) => i <= first || pair[0] !== toText(name))
                .map((pair, i) => (i === first ? [pair[0], wellFormed(value)] : pair)));
        }
    }

    sort() { this.#change(this.#pairs.toSorted((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))); }

    forEach(visit, self) { for (const [name, value] of this.#pairs) apply(visit, self, [value, name, this]); }

    * entries() { for (const [name, value] of this.#pairs) yield [name, value]; }

    * keys() { for (const [name] of this.#pairs) yield name; }

    * values() { for (const pair of this.#pairs) yield pair[1]; }

    toString() { return this.#pairs.map(([name, value]) => `${formEncoded(name)}=${formEncoded(value)}`).join('&'); }

    [customInspect](depth, options) {
        if (this.#pairs.length === 0) return 'URLSearchParams {}';
        return `URLSearchParams { ${this.#pairs.map(([name, value]) => `${inspect(name, options)} => ${inspect(value, options)}`).join(', ')} }`;
    }
}
hide(URLSearchParams.prototype, PrimordialSymbol.iterator, URLSearchParams.prototype.entries);
hide(URLSearchParams.prototype, PrimordialSymbol.toStringTag, 'URLSearchParams');
const tieParameters = URLSearchParams.take();
const wellFormed = (value) => toText(value).toWellFormed();

class URL {
    #parts;

    #parameters;

    constructor(text, base) {
        const from = base === undefined ? undefined : parsedUrl(wellFormed(base));
        this.#parts = base !== undefined && from === undefined ? undefined : parsedUrl(wellFormed(text), from);
        if (this.#parts === undefined) {
            const error = coded(new PrimordialTypeError('Invalid URL'), 'ERR_INVALID_URL');
            error.input = toText(text);
            if (base !== undefined) error.base = toText(base);
            throw error;
        }
    }

    static canParse(text, base) { return URL.parse(text, base) !== null; }

    static parse(text, base) {
        try {
            return new URL(text, base);
        } catch {
            return null;
        }
    }

    get href() { return urlText(this.#parts); }

    set href(text) {
        this.#parts = new URL(text).#parts;
        this.#retie();
    }

    get origin() {
        const { protocol, path } = this.#parts;
        if (protocol === 'blob:') return URL.parse(path)?.origin ?? 'null';
        return isSpecial(this.#parts) && protocol !== 'file:' ? `${protocol}//${hostText(this.#parts)}` : 'null';
    }

    get protocol() { return this.#parts.protocol; }

    set protocol(text) {
        const scheme = /^[a-z][a-z0-9+.-]*(?=:|$)/i.exec(text);
        if (scheme === null) return;
        const changed = { ...this.#parts, protocol: `${scheme[0].toLowerCase()}:` };
        if (isSpecial(changed) !== isSpecial(this.#parts)) return;
        this.#parts = changed;
        setPort(changed, changed.port);
    }

    get username() { return this.#parts.username; }

    set username(text) { if (this.#parts.host) this.#parts.username = percentEncoded(text, userSet); }

    get password() { return this.#parts.password; }

    set password(text) { if (this.#parts.host) this.#parts.password = percentEncoded(text, userSet); }

    get host() { return hostText(this.#parts); }

    set host(text) { if (!this.#parts.opaque) this.#try((parts) => setHost(parts, toText(text).split(/[/?#\\]/)[0])); }

    get hostname() { return this.#parts.host ?? ''; }

    set hostname(text) { if (!this.#parts.opaque) this.#try((parts) => setHost(parts, toText(text).split(/[/?#\\:]/)[0])); }

    get port() { return this.#parts.port; }

    set port(text) {
        const digits = /^[0-9]*/.exec(text)[0];
        if (this.#parts.host && +digits <= 65535 && (digits !== '' || text === '')) setPort(this.#parts, digits);
    }

    get pathname() { return pathText(this.#parts); }

    set pathname(text) {
        if (!this.#parts.opaque) setPath(this.#parts, toText(isSpecial(this.#parts) ? toText(text).replace(/\\/g, '/') : text));
    }

    get search() { return this.#parts.query ? `?${this.#parts.query}` : ''; }

    set search(text) {
        text = toText(text);
        if (text === '') this.#parts.query = null;
        else setQuery(this.#parts, text.replace(/^\?/, ''));
        this.#retie();
    }

    get hash() { return this.#parts.fragment ? `#${this.#parts.fragment}` : ''; }

    set hash(text) { this.#parts.fragment = text === '' ? null : percentEncoded(toText(text).replace(/^#/, ''), fragmentSet); }

    get searchParams() {
        if (this.#parameters === undefined) {
            this.#parameters = new URLSearchParams();
            this.#retie();
        }
        return this.#parameters;
    }

    #retie() {
        if (this.#parameters === undefined) return;
        tieParameters(this.#parameters, this.#parts.query ?? '', (text) => { this.#parts.query = text === '' ? null : text; });
    }

    #try(change) {
        const parts = { ...this.#parts };
        if (change(parts)) this.#parts = parts;
    }

    toString() { return this.href; }

    toJSON() { return this.href; }

    [customInspect](depth, options) {
        const shown = {};
        for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash']) {
            shown[name] = this[name];
        }
        return `URL ${inspect(shown, options)}`;
    }
}
hide(URL.prototype, PrimordialSymbol.toStringTag, 'URL');
for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash', 'toString', 'toJSON']) {
    defineProperty(URL.prototype, name, { enumerable: true });
}

function makeUrl() {
    return {
        URL,
        URLSearchParams,
        fileURLToPath: (url) => percentDecoded(new URL(url).pathname),
        pathToFileURL: (path) => new URL(`file://${percentEncoded(require('path').resolve(path), `${pathSet}%`)}`),
        domainToASCII: (name) => parsedHost(name, true) ?? '',
        format: (url) => (isObject(url) && !instanceOf(URL, url) ? legacyText(url) : toText(url)),
        parse: legacyParsed,
    };
}

// The older interface: an object of parts, also for text that is only a path.
function legacyParsed(text, readsQuery = false) {
    const made = { protocol: null, slashes: null, auth: null, host: null, port: null, hostname: null, hash: null, search: null, query: null,
        pathname: null, path: null, href: toText(text) };
    const url = URL.parse(text) ?? URL.parse(text, 'http://x/');
    if (url === null) return made;
    if (URL.canParse(text)) {
        for (const part of ['protocol', 'host', 'hostname', 'href']) made[part] = url[part];
        made.slashes = text.includes('//') || null;
        made.port = url.port || null;
        if (url.username !== '') made.auth = url.password === '' ? url.username : `${url.username}:${url.password}`;
    }
    made.hash = url.hash || null;
    made.search = url.search || null;
    made.pathname = url.pathname;
    made.path = url.pathname + url.search;
    made.query = readsQuery ? makeQuerystring().parse(url.search.slice(1)) : url.search.slice(1) || null;
    return made;
}

const legacyText = ({ protocol = '', host, hostname = '', port, pathname = '', search = '', query, hash = '' }) => {
    const asked = search || (query === undefined ? '' : `?${makeQuerystring().stringify(query)}`);
    return `${protocol && protocol.replace(/:?$/, ':')}//${host ?? hostname + (port ? `:${port}` : '')}${pathname}${asked}${hash}`;
};

function makeQuerystring() {
    const escape = (text) => percentEncoded(toText(text), ' "#$%&+,/:;<=>?@[\\]^`{|}');
    const stringify = (object, separator = '&', equals = '=') => objectKeys(object ?? {}).flatMap((name) => (
        (isArray(object[name]) ? object[name] : [object[name]]).map((value) => `${escape(name)}${equals}${escape(value ?? '')}`)
    )).join(separator);
    const parse = (text, separator = '&', equals = '=') => {
        const found = { __proto__: null };
        for (const part of toText(text).split(separator)) {
            if (part === '') continue;
            const [name, ...rest] = part.split(equals);
            const [key, value] = [formDecoded(name), formDecoded(rest.join(equals))];
            found[key] = key in found ? [found[key], value].flat() : value;
        }
        return found;
    };
    return { parse, decode: parse, stringify, encode: stringify, escape, unescape: percentDecoded };
}

return { URL, URLSearchParams, makeUrl, makeQuerystring, percentDecoded };
