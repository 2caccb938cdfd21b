// Values as text that says all of them, and back: how what a program computed reaches the instance
// that judges it. The encoder runs beside the program, so it relies on nothing that a program can
// change: no arrays, no iteration, no toJSON, valueOf, toPrimitive or then. A getter or a Proxy is
// read once, and is data from there on.
//
// The text is JSON. null, booleans, strings and most numbers stand for themselves; else an array:
// ['u'] undefined, ['n', '-0'] a number that JSON lacks, ['i', '12'] a bigint, ['y', name, key] a
// symbol, ['k', path] a builtin, ['r', n] the n-th thing that was begun before, ['p', name, parent]
// a prototype of the program's own, [kind, prototype, content, properties] an object.

const DEEPEST = 400;
const MOST_TEXT = 4000000;

// Builtins cross by name: constructors, prototypes, well-known symbols.
const builtinPaths = new PrimordialMap();
const builtinsByPath = { __proto__: null };

function knowBuiltin(path, value) {
    if (mapHas(builtinPaths, value)) return;
    mapSet(builtinPaths, value, path);
    builtinsByPath[path] = value;
}

function knowBuiltins() {
    const names = getOwnPropertyNames(globalThis);
    for (let i = 0; i < names.length; i++) {
        const value = getOwnPropertyDescriptor(globalThis, names[i]).value;
        if (typeof value !== 'function') continue;
        knowBuiltin(names[i], value);
        const prototype = getOwnPropertyDescriptor(value, 'prototype')?.value;
        knowMethods(names[i], value);
        if (!isObject(prototype)) continue;
        knowBuiltin(`${names[i]}.prototype`, prototype);
        knowMethods(`${names[i]}.prototype`, prototype);
    }
    const symbols = getOwnPropertyNames(PrimordialSymbol);
    for (let i = 0; i < symbols.length; i++) {
        if (typeof PrimordialSymbol[symbols[i]] === 'symbol') knowBuiltin(`Symbol.${symbols[i]}`, PrimordialSymbol[symbols[i]]);
    }
    knowBuiltin('TypedArray.prototype', TypedArrayPrototype);
    for (const name of ['globalThis', 'Math', 'JSON', 'Reflect', 'console', 'process']) {
        knowBuiltin(name, globalThis[name]);
        knowMethods(name, globalThis[name]);
    }
}

function knowMethods(path, object) {
    const names = getOwnPropertyNames(object);
    for (let i = 0; i < names.length; i++) {
        const method = getOwnPropertyDescriptor(object, names[i]).value;
        if (typeof method === 'function' && names[i] !== 'constructor') knowBuiltin(`${path}.${names[i]}`, method);
    }
}

const regExpSource = uncurry(getOwnPropertyDescriptor(RegExp.prototype, 'source').get);
const regExpFlags = uncurry(getOwnPropertyDescriptor(RegExp.prototype, 'flags').get);
const symbolDescription = uncurry(getOwnPropertyDescriptor(PrimordialSymbol.prototype, 'description').get);
const { keyFor, for: symbolFor } = PrimordialSymbol;
const { setPrototypeOf } = Object;

class Encoder {
    #seen = new PrimordialMap();

    #made = 0;

    #text = 0;

    value(value, depth) {
        if (typeof value === 'string') return this.#counted(jsonStringify(value));
        if (typeof value === 'number') return this.#counted(numberCode(value));
        if (value === null || value === true || value === false) return this.#counted(`${value}`);
        if (value === undefined) return this.#counted('["u"]');
        if (typeof value === 'bigint') return this.#counted(`["i","${value}"]`);
        if (mapHas(builtinPaths, value)) return this.#counted(`["k",${jsonStringify(mapGet(builtinPaths, value))}]`);
        if (mapHas(this.#seen, value)) return this.#counted(`["r",${mapGet(this.#seen, value)}]`);
        if (depth > DEEPEST) throw new PrimordialRangeError('the value is nested too deeply to be judged');
        mapSet(this.#seen, value, this.#made++);
        if (typeof value === 'symbol') return this.#counted(symbolCode(value));
        return this.#object(value, depth + 1);
    }

    #counted(text) {
        this.#text += text.length + 4;
        if (this.#text > MOST_TEXT) throw new PrimordialRangeError('the value is too large to be judged');
        return text;
    }

    #object(value, depth) {
        const prototype = this.prototype(getPrototypeOf(value), depth);
        if (isArray(value)) return this.#array(value, prototype, depth);
        if (isTypedArray(value)) return this.#typedArray(value, prototype);
        const content = this.#content(value, depth);
        return `[${content},${this.#properties(value, objectKeys(value), 0, depth)},${prototype}]`;
    }

    // The prototype of a value. One of the program's own keeps its name, its parent, and that it is
    // the same as another's.
    prototype(value, depth) {
        if (value === null || mapHas(builtinPaths, value) || mapHas(this.#seen, value)) return this.value(value, depth);
        if (depth > DEEPEST) throw new PrimordialRangeError('the value is nested too deeply to be judged');
        mapSet(this.#seen, value, this.#made++);
        const constructor = getOwnPropertyDescriptor(value, 'constructor')?.value;
        const name = isObject(constructor) ? getOwnPropertyDescriptor(constructor, 'name')?.value : undefined;
        const shown = typeof name === 'string' ? name : '';
        return this.#counted(`["p",${jsonStringify(shown)},${this.prototype(getPrototypeOf(value), depth + 1)}]`);
    }

    #array(value, prototype, depth) {
        const { length } = value;
        const keys = objectKeys(value);
        const isDense = typeof length === 'number' && keys.length >= length && (length === 0 || keys[length - 1] === `${length - 1}`);
        let items = '';
        if (isDense) {
            for (let i = 0; i < length; i++) items += `${i > 0 ? ',' : ''}${this.value(value[i], depth)}`;
        }
        const rest = this.#properties(value, keys, isDense ? length : 0, depth);
        return `["a",${typeof length === 'number' ? numberCode(length) : 0},[${items}],${rest},${prototype}]`;
    }

    #typedArray(value, prototype) {
        const length = typedArrayLength(value);
        let items = '';
        for (let i = 0; i < length; i++) items += `${i > 0 ? ',' : ''}${this.value(value[i], 0)}`;
        return `["t","${typedArrayName(value)}",[${items}],[],${prototype}]`;
    }

    // The kind of an object that is no array, and what it holds apart from its properties.
    #content(value, depth) {
        if (typeof value === 'function') {
            const name = getOwnPropertyDescriptor(value, 'name')?.value;
            const prototype = getOwnPropertyDescriptor(value, 'prototype')?.value;
            const held = isObject(prototype) ? this.prototype(prototype, depth) : 'null';
            return `"f",[${jsonStringify(typeof name === 'string' ? name : '')},${held}]`;
        }
        if (isMap(value)) return `"m",[${this.#entries(value, depth)}]`;
        if (isSet(value)) return `"s",[${this.#items(value, depth)}]`;
        if (isDate(value)) return `"d",${numberCode(dateTime(value))}`;
        if (isRegExp(value)) {
            const flags = toText(regExpFlags(value));
            return `"x",[${jsonStringify(regExpSource(value))},${jsonStringify(flags)},${this.value(value.lastIndex, depth)}]`;
        }
        if (isError(value)) return `"e",[${this.value(value.name, depth)},${this.value(value.message, depth)}]`;
        if (isArrayBuffer(value)) return `"b",${this.#typedArray(new PrimordialUint8Array(value), 'null')}`;
        if (isPromise(value)) return '"w",null';
        const inner = boxed(value);
        return inner === undefined ? '"o",null' : `"x1",${this.value(inner[1], depth)}`;
    }

    #entries(map, depth) {
        let text = '';
        mapForEach(map, (item, key) => {
            text += `${text === '' ? '' : ','}${this.value(key, depth)},${this.value(item, depth)}`;
        });
        return text;
    }

    #items(set, depth) {
        let text = '';
        setForEach(set, (item) => { text += `${text === '' ? '' : ','}${this.value(item, depth)}`; });
        return text;
    }

    // Enumerable properties from the `from`-th key on, as [key, value, ...].
    #properties(value, keys, from, depth) {
        let text = '';
        for (let i = from; i < keys.length; i++) {
            text += `${text === '' ? '' : ','}${this.value(keys[i], depth)},${this.value(value[keys[i]], depth)}`;
        }
        const symbols = getOwnPropertySymbols(value);
        for (let i = 0; i < symbols.length; i++) {
            if (!isEnumerable(value, symbols[i])) continue;
            text += `${text === '' ? '' : ','}${this.value(symbols[i], depth)},${this.value(value[symbols[i]], depth)}`;
        }
        return `[${text}]`;
    }
}

function numberCode(value) {
    return value - value !== 0 || (value === 0 && 1 / value < 0) ? `["n","${value === 0 ? '-0' : value}"]` : `${value}`;
}

function symbolCode(value) {
    const key = keyFor(value);
    const name = symbolDescription(value);
    return `["y",${name === undefined ? null : jsonStringify(name)},${key !== undefined}]`;
}

// Back from text. Runs where no program ran, and still gives objects no behaviour of their own: a
// function does nothing, a class is its name and its parents.
class Decoder {
    #seen = [];

    value(code) {
        if (!isArray(code)) return code;
        switch (code[0]) {
        case 'u': return undefined;
        case 'n': return toNumber(code[1]);
        case 'i': return BigInt(code[1]);
        case 'k': return builtinsByPath[code[1]];
        case 'r': return this.#seen[code[1]];
        case 'y': return this.#keep(code[2] ? symbolFor(code[1]) : PrimordialSymbol(code[1] ?? undefined));
        case 'p': return this.#prototype(code);
        default: return this.#object(code);
        }
    }

    #keep(value) {
        push(this.#seen, value);
        return value;
    }

    #prototype([, name, parent]) {
        const at = this.#seen.length;
        this.#keep(null);
        const made = { __proto__: this.value(parent) };
        hide(made, 'constructor', defineProperty(function () {}, 'name', { value: name }));
        made.constructor.prototype = made;
        this.#seen[at] = made;
        return made;
    }

    #object(code) {
        const at = this.#seen.length;
        this.#keep(null);
        const [kind, first, items] = code;
        const made = this.#seen[at] = emptyOfKind(kind, first, items, (inner) => this.value(inner));
        // The order in which things were numbered: the prototype, what is inside, the properties.
        const prototype = this.value(code[code.length - 1]);
        this.#fill(made, kind, first, items);
        const properties = code[code.length - 2];
        for (let i = 0; i < properties.length; i += 2) {
            const key = this.value(properties[i]);
            const value = this.value(properties[i + 1]);
            if (kind === 'x1' && hasOwn(made, key)) continue; // a character of a boxed string
            defineProperty(made, key, { value, writable: true, enumerable: true, configurable: true });
        }
        if (getPrototypeOf(made) !== prototype) setPrototypeOf(made, prototype);
        return made;
    }

    #fill(made, kind, content, items) {
        if (kind === 'a') for (let i = 0; i < items.length; i++) made[i] = this.value(items[i]);
        else if (kind === 'm') for (let i = 0; i < content.length; i += 2) mapSet(made, this.value(content[i]), this.value(content[i + 1]));
        else if (kind === 's') for (let i = 0; i < content.length; i++) setAdd(made, this.value(content[i]));
        else if (kind === 'x') made.lastIndex = this.value(content[2]);
        else if (kind === 'f') {
            defineProperty(made, 'name', { value: content[0], configurable: true });
            const held = this.value(content[1]);
            if (isObject(held)) made.prototype = held;
        } else if (kind === 'e') {
            const name = this.value(content[0]);
            hide(made, 'message', this.value(content[1]));
            hide(made, 'name', name);
        }
    }
}

function emptyOfKind(kind, content, items, decoded) {
    switch (kind) {
    case 'a': {
        const made = [];
        made.length = decoded(content);
        return made;
    }
    case 't': {
        const made = new builtinsByPath[content](items.length);
        for (let i = 0; i < items.length; i++) made[i] = decoded(items[i]);
        return made;
    }
    case 'f': return function () {};
    case 'm': return new PrimordialMap();
    case 's': return new PrimordialSet();
    case 'd': return new Date(decoded(content));
    case 'x': return new RegExp(content[0], content[1]);
    case 'e': return new PrimordialError();
    case 'b': return emptyOfKind('t', 'Uint8Array', content[2], decoded).buffer;
    case 'w': return new PrimordialPromise(() => {});
    case 'x1': return Object(decoded(content));
    default: return {};
    }
}
