// util.inspect as Node 20 prints it: what console.log shows of anything that is not a string.

const customInspect = PrimordialSymbol.for('nodejs.util.inspect.custom');
const identifier = /^[a-zA-Z_][a-zA-Z_0-9]*$/;
const defaults = {
    depth: 2,
    maxArrayLength: 100,
    maxStringLength: 10000,
    breakLength: 80,
    compact: 3,
    showHidden: false,
    sorted: false,
    getters: false,
    numericSeparator: false,
    colors: false,
    customInspect: true,
    showProxy: false,
};

const escapes = { 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r', 92: '\\\\' };

function quote(text) {
    let mark = "'";
    if (includes(text, "'")) {
        if (!includes(text, '"')) mark = '"';
        else if (!includes(text, '`') && !includes(text, '${')) mark = '`';
    }
    return mark + escapedText(text, mark) + mark;
}

function escapedText(text, mark) {
    let made = '';
    let from = 0;
    for (let i = 0; i < text.length; i++) {
        const escaped = escapedAt(text, i, mark);
        if (escaped === '') continue;
        made += slice(text, from, i) + escaped;
        from = i + 1;
    }
    return made + slice(text, from);
}

// How the character at `i` is written inside quotes; '' where it stands for itself.
function escapedAt(text, i, mark) {
    const code = charCodeAt(text, i);
    if (code < 32 || code === 92 || (code >= 127 && code < 160)) {
        return escapes[code] ?? '\\x' + padStart(toUpperCase(numberToText(code, 16)), 2, '0');
    }
    if (code === 39) return mark === "'" ? "\\'" : '';
    if (code < 0xd800 || code > 0xdfff) return '';
    const next = charCodeAt(text, i + 1);
    const before = i > 0 ? charCodeAt(text, i - 1) : 0;
    const paired = code < 0xdc00 ? next >= 0xdc00 && next <= 0xdfff : before >= 0xd800 && before < 0xdc00;
    return paired ? '' : '\\u' + numberToText(code, 16);
}

const formatNumber = (value) => (sameValue(value, -0) ? '-0' : toText(value));

const plural = (count) => (count > 1 ? 's' : '');

function formatPrimitive(context, value) {
    if (typeof value === 'string') return formatString(context, value);
    if (typeof value === 'number') return formatNumber(value);
    if (typeof value === 'bigint') return toText(value) + 'n';
    return typeof value === 'symbol' ? symbolText(value) : toText(value);
}

function formatString(context, value) {
    let trailer = '';
    if (value.length > context.maxStringLength) {
        const left = value.length - context.maxStringLength;
        value = slice(value, 0, context.maxStringLength);
        trailer = `... ${left} more character${plural(left)}`;
    }
    const room = context.breakLength - context.indentation - 4;
    if (context.compact !== true && value.length > 16 && value.length > room) {
        const lines = [];
        const parts = split(value, '\n');
        for (let i = 0; i < parts.length; i++) {
            const last = i === parts.length - 1;
            if (!last || parts[i] !== '') push(lines, quote(parts[i] + (last ? '' : '\n')));
        }
        return join(lines, ` +\n${repeat(' ', context.indentation + 2)}`) + trailer;
    }
    return quote(value) + trailer;
}

// The name of the class that made `value`; null where no prototype names one.
function constructorName(value) {
    let object = value;
    while (object) {
        const descriptor = getOwnPropertyDescriptor(object, 'constructor');
        if (descriptor !== undefined && typeof descriptor.value === 'function' &&
            descriptor.value.name !== '' && isInstance(value, descriptor.value)) {
            return toText(descriptor.value.name);
        }
        object = getPrototypeOf(object);
    }
    return null;
}

function isInstance(value, constructor) {
    try {
        return value instanceof constructor;
    } catch {
        return false;
    }
}

function prefix(constructor, tag, fallback, size = '') {
    const name = constructor === null ? `[${fallback}${size}: null prototype] ` : `${constructor}${size} `;
    return tag !== '' && constructor !== tag ? `${name}[${tag}] ` : name;
}

function tagOf(value, constructor) {
    const tag = value[PrimordialSymbol.toStringTag];
    if (typeof tag !== 'string' || isEnumerable(value, PrimordialSymbol.toStringTag)) return '';
    return tag === constructor ? '' : tag;
}

function visibleKeys(context, value) {
    let keys;
    if (context.showHidden) {
        keys = ownKeys(value);
    } else {
        keys = objectKeys(value);
        const symbols = getOwnPropertySymbols(value);
        for (let i = 0; i < symbols.length; i++) {
            if (isEnumerable(value, symbols[i])) push(keys, symbols[i]);
        }
    }
    return keys;
}

const isIndex = (key) => typeof key === 'string' && patternTest(/^(0|[1-9][0-9]*)$/, key);

function withoutIndexes(keys) {
    const named = [];
    for (let i = 0; i < keys.length; i++) if (!isIndex(keys[i])) push(named, keys[i]);
    return named;
}

function formatValue(context, value, depth) {
    if (!isObject(value)) return formatPrimitive(context, value);
    if (context.customInspect) {
        const custom = value[customInspect];
        if (typeof custom === 'function' && custom !== inspect) {
            return formatCustom(context, value, custom, depth);
        }
    }
    if (arrayIndexOf(context.seen, value) >= 0) {
        if (!mapHas(context.circular, value)) {
            mapSet(context.circular, value, mapSize(context.circular) + 1);
        }
        return `[Circular *${mapGet(context.circular, value)}]`;
    }
    return formatObject(context, value, depth);
}

function formatCustom(context, value, custom, depth) {
    const left = context.depth === null ? Infinity : context.depth - depth;
    const shown = apply(custom, value, [left, context.options, inspect]);
    if (typeof shown === 'string') return join(split(shown, '\n'), `\n${repeat(' ', context.indentation)}`);
    return formatValue(context, shown, depth);
}

// How a kind of object is shown: its opening text, its brackets, its entries. `plain` is what an
// object without further properties shrinks to.
function describe(context, value, keys) {
    const constructor = constructorName(value);
    const tag = tagOf(value, constructor);
    if (isArray(value)) {
        const opening = constructor !== 'Array' || tag !== '' ? prefix(constructor, tag, 'Array', `(${value.length})`) : '';
        return { opening, open: '[', close: ']', keys: withoutIndexes(keys), entries: arrayEntries, list: true,
            empty: value.length === 0 ? `${opening}[]` : undefined };
    }
    if (isSet(value)) {
        const opening = prefix(constructor, tag, 'Set', `(${setSize(value)})`);
        return { opening, keys, entries: setEntries, empty: setSize(value) === 0 ? `${opening}{}` : undefined };
    }
    if (isMap(value)) {
        const opening = prefix(constructor, tag, 'Map', `(${mapSize(value)})`);
        return { opening, keys, entries: mapEntries, empty: mapSize(value) === 0 ? `${opening}{}` : undefined };
    }
    if (isTypedArray(value)) {
        const size = typedArrayLength(value);
        const opening = prefix(constructor, tag, typedArrayName(value), `(${size})`);
        return { opening, open: '[', close: ']', keys: withoutIndexes(keys), entries: typedArrayEntries, list: true,
            empty: size === 0 ? `${opening}[]` : undefined };
    }
    return describeRest(context, value, keys, constructor, tag);
}

function describeRest(context, value, keys, constructor, tag) {
    if (typeof value === 'function') return asBase(functionBase(value, constructor, tag), keys);
    const iterator = iteratorKind(value);
    if (iterator !== '') return describeIterator(value, iterator, keys, tag);
    if (objectTag(value) === '[object Arguments]' && tag === '') {
        return { opening: '[Arguments] ', keys, entries: none, empty: '[Arguments] {}' };
    }
    if (isRegExp(value)) return asBase(named(patternText(value), constructor, 'RegExp', tag), keys);
    if (isDate(value)) {
        const time = dateTime(value);
        return asBase(named(time === time ? dateText(value) : 'Invalid Date', constructor, 'Date', tag), keys);
    }
    if (isError(value)) return asBase(errorBase(context, value, constructor, tag, keys), errorKeys(value, keys));
    if (isPromise(value)) return { opening: prefix(constructor, tag, 'Promise'), keys, entries: promiseEntries };
    if (isWeakSet(value)) return { opening: prefix(constructor, tag, 'WeakSet'), keys, entries: unknownItems };
    if (isWeakMap(value)) return { opening: prefix(constructor, tag, 'WeakMap'), keys, entries: unknownItems };
    if (isArrayBuffer(value)) return { opening: prefix(constructor, tag, 'ArrayBuffer'), keys, entries: bufferEntries };
    if (isDataView(value)) return { opening: prefix(constructor, tag, 'DataView'), keys, entries: viewEntries };
    const inner = boxed(value);
    if (inner !== undefined) return describeBoxed(inner[0], inner[1], keys, constructor, tag);
    const opening = constructor !== 'Object' || tag !== '' ? prefix(constructor, tag, 'Object') : '';
    return { opening, keys, entries: none, empty: `${opening}{}` };
}

const named = (text, constructor, usual, tag) =>
    constructor === usual && tag === '' ? text : `${prefix(constructor, tag, usual)}${text}`;

const asBase = (base, keys) => ({ base, opening: '', keys, entries: none, empty: base });

function iteratorKind(value) {
    const text = objectTag(value);
    if (text === '[object Map Iterator]' && getPrototypeOf(value) === mapIterators) return 'Map Iterator';
    return text === '[object Set Iterator]' && getPrototypeOf(value) === setIterators ? 'Set Iterator' : '';
}

// What an iterator of a Map or Set still holds. Only taking it tells; from then on the iterator gives
// it out from here.
const taken = new WeakMap();

function itemsLeft(iterator, kind) {
    if (!weakMapHas(taken, iterator)) {
        if (!isExtensible(iterator)) return [];
        const next = kind === 'Map Iterator' ? mapIteratorNext : setIteratorNext;
        const items = [];
        for (let step = next(iterator); !step.done; step = next(iterator)) push(items, step.value);
        const held = { items, at: 0 };
        weakMapSet(taken, iterator, held);
        hide(iterator, 'next', () => {
            const done = held.at >= items.length;
            return { value: done ? undefined : items[held.at++], done };
        });
    }
    const { items, at } = weakMapGet(taken, iterator);
    return arraySlice(items, at);
}

function arePairs(items) {
    for (let i = 0; i < items.length; i++) if (!isArray(items[i]) || items[i].length !== 2) return false;
    return items.length > 0;
}

// Nothing tells entries from values that are pairs themselves (or from nothing, where none is left);
// entries are by far the more common.
function describeIterator(value, kind, keys, tag) {
    const items = itemsLeft(value, kind);
    const pairs = arePairs(items);
    const label = pairs ? `${slice(kind, 0, 3)} Entries` : kind;
    const each = (visit) => { for (let i = 0; i < items.length; i++) visit(items[i]); };
    return { opening: `[${tag === '' || tag === kind ? label : tag}] `, keys,
        entries: (context, _, depth) => collected( // a pair is no level of its own
            context, items.length, each, (item) => formatValue(context, item, pairs ? depth - 1 : depth)) };
}

function describeBoxed(kind, inner, keys, constructor, tag) {
    let base = `[${kind}`;
    if (constructor !== kind) base += constructor === null ? ' (null prototype)' : ` (${constructor})`;
    base += `: ${typeof inner === 'string' ? quote(inner) : formatPrimitive(defaults, inner)}]`;
    if (tag !== '' && tag !== constructor && tag !== kind) base += ` [${tag}]`;
    return asBase(base, kind === 'String' ? withoutIndexes(keys) : keys);
}

function functionBase(value, constructor, tag) {
    const text = functionText(value);
    if (startsWith(text, 'class') && (text[5] === ' ' || text[5] === '{' || text[5] === '\n')) {
        return classBase(value, constructor, tag);
    }
    const kinds = { AsyncFunction: 'AsyncFunction', GeneratorFunction: 'GeneratorFunction',
        AsyncGeneratorFunction: 'AsyncGeneratorFunction' };
    const kind = kinds[slice(objectTag(value), 8, -1)] ?? 'Function';
    let base = `[${kind}`;
    if (constructor === null) base += ' (null prototype)';
    base += value.name === '' || typeof value.name !== 'string' ? ' (anonymous)' : `: ${value.name}`;
    base += ']';
    if (constructor !== kind && constructor !== null) base += ` ${constructor}`;
    if (tag !== '' && constructor !== tag && tag !== kind) base += ` [${tag}]`;
    return base;
}

function classBase(value, constructor, tag) {
    let base = `[class ${hasOwn(value, 'name') && value.name !== '' ? toText(value.name) : '(anonymous)'}`;
    if (constructor !== 'Function' && constructor !== null) base += ` [${constructor}]`;
    if (tag !== '' && constructor !== tag) base += ` [${tag}]`;
    if (constructor === null) return `${base} extends [null prototype]]`;
    const parent = getPrototypeOf(value).name;
    return parent ? `${base} extends ${parent}]` : `${base}]`;
}

// An error's header and stack. QuickJS keeps the header out of `stack`; Node puts it first.
function errorText(error) {
    const stack = typeof error.stack === 'string' ? error.stack : '';
    const frames = endsWith(stack, '\n') ? slice(stack, 0, -1) : stack;
    if (frames === '') return `[${errorHeader(error)}]`;
    if (startsWith(frames, '    at ')) return `${errorHeader(error)}\n${frames}`;
    return includes(frames, '\n    at ') ? frames : `[${frames}]`; // the program set it
}

function errorHeader(error) {
    const name = error.name === undefined ? 'Error' : toText(error.name);
    const message = error.message === undefined ? '' : toText(error.message);
    if (name === '') return message;
    return message === '' ? name : `${name}: ${message}`;
}

function errorBase(context, error, constructor, tag, keys) {
    let text = errorText(error);
    const name = toText(error.name ?? 'Error');
    // Node shows the class where the name does not tell it: `class MyError extends Error {}`.
    if (constructor !== null && constructor !== name && endsWith(name, 'Error') && startsWith(text, name)) {
        const shown = includes(constructor, name) ? constructor : `${constructor} [${name}]`;
        text = shown + slice(text, name.length);
    }
    if ('cause' in error && arrayIndexOf(keys, 'cause') < 0 && hasOwn(error, 'cause')) push(keys, 'cause');
    if (hasOwn(error, 'errors') && isArray(error.errors) && arrayIndexOf(keys, 'errors') < 0) push(keys, 'errors');
    if (context.indentation > 0) text = join(split(text, '\n'), `\n${repeat(' ', context.indentation)}`);
    return text;
}

// Own `name`, `message` and `stack` are not listed again when the text already shows them.
function errorKeys(error, keys) {
    const text = errorText(error);
    const left = [];
    for (let i = 0; i < keys.length; i++) {
        const key = keys[i];
        const shown = (key === 'name' || key === 'message' || key === 'stack') && includes(text, toText(error[key]));
        if (!shown) push(left, key);
    }
    return left;
}

const none = () => [];
const unknownItems = () => ['<items unknown>'];

function arrayEntries(context, value, depth) {
    const output = [];
    const length = value.length;
    const shown = min(max(0, context.maxArrayLength), length);
    let index = 0;
    while (index < length && output.length < shown) {
        if (hasOwn(value, index)) {
            push(output, formatProperty(context, value, index, depth, 'item'));
            index++;
            continue;
        }
        const start = index;
        while (index < length && !hasOwn(value, index)) index++;
        push(output, `<${index - start} empty item${plural(index - start)}>`);
    }
    if (index < length) push(output, more(length - index));
    return output;
}

const more = (count) => `... ${count} more item${plural(count)}`;

function typedArrayEntries(context, value) {
    const output = [];
    const length = typedArrayLength(value);
    const shown = min(max(0, context.maxArrayLength), length);
    for (let i = 0; i < shown; i++) push(output, formatPrimitive(context, value[i]));
    if (length > shown) push(output, more(length - shown));
    return output;
}

function collected(context, size, forEach, format) {
    const output = [];
    const shown = min(max(0, context.maxArrayLength), size);
    context.indentation += 2;
    forEach((value, key) => {
        if (output.length < shown) push(output, format(value, key));
    });
    context.indentation -= 2;
    if (size > shown) push(output, more(size - shown));
    return output;
}

const setEntries = (context, value, depth) => collected(
    context, setSize(value), (visit) => setForEach(value, visit), (item) => formatValue(context, item, depth));

const mapEntries = (context, value, depth) => collected(
    context, mapSize(value), (visit) => mapForEach(value, visit),
    (item, key) => `${formatValue(context, key, depth)} => ${formatValue(context, item, depth)}`);

function promiseEntries(context, value, depth) {
    const state = host.promiseState(value);
    if (state === 0) return ['<pending>'];
    context.indentation += 2;
    const result = formatValue(context, host.promiseResult(value), depth);
    context.indentation -= 2;
    return [state === 2 ? `<rejected> ${result}` : result];
}

function bufferEntries(context, value) {
    const bytes = new PrimordialUint8Array(value);
    const shown = min(max(0, context.maxArrayLength), bytes.length);
    const pairs = [];
    for (let i = 0; i < shown; i++) push(pairs, padStart(numberToText(bytes[i], 16), 2, '0'));
    const left = bytes.length - shown;
    const rest = left > 0 ? ` ... ${left} more byte${plural(left)}` : '';
    return [`[Uint8Contents]: <${join(pairs, ' ')}${rest}>`, `byteLength: ${bytes.length}`];
}

const viewEntries = (context, value, depth) => [
    `byteLength: ${value.byteLength}`,
    `byteOffset: ${value.byteOffset}`,
    `buffer: ${formatValue(context, value.buffer, depth)}`,
];

function formatKey(key) {
    if (typeof key === 'symbol') return `[${escapedText(symbolText(key), "'")}]`;
    if (key === '__proto__') return "['__proto__']";
    return patternTest(identifier, key) ? key : quote(key);
}

// One property: `name: value`, or the value alone where `kind` is 'item' (of an array).
function formatProperty(context, object, key, depth, kind) {
    const descriptor = getOwnPropertyDescriptor(object, key) ?? { value: object[key], enumerable: true };
    let text;
    if (hasOwn(descriptor, 'value')) {
        context.indentation += 2;
        text = formatValue(context, descriptor.value, depth);
        context.indentation -= 2;
    } else if (descriptor.get !== undefined) {
        text = descriptor.set !== undefined ? '[Getter/Setter]' : '[Getter]';
    } else {
        text = descriptor.set !== undefined ? '[Setter]' : 'undefined';
    }
    if (kind === 'item') return text;
    const name = descriptor.enumerable === false ? `[${typeof key === 'symbol' ? symbolText(key) : key}]` : formatKey(key);
    return `${name}: ${text}`;
}

function formatObject(context, value, depth) {
    const shape = describe(context, value, visibleKeys(context, value));
    if (shape.keys.length === 0 && shape.empty !== undefined) return shape.empty;
    if (context.depth !== null && depth > context.depth) {
        const name = constructorName(value);
        const shown = slice(prefix(name, tagOf(value, name), isArray(value) ? 'Array' : 'Object'), 0, -1);
        return name === null ? shown : `[${shown}]`;
    }
    push(context.seen, value);
    context.level = depth;
    const output = shape.entries(context, value, depth + 1);
    for (let i = 0; i < shape.keys.length; i++) {
        push(output, formatProperty(context, value, shape.keys[i], depth + 1, 'property'));
    }
    context.seen.length -= 1;
    if (context.sorted && !shape.list) sort(output);
    return layOut(context, value, depth, shape, output);
}

function layOut(context, value, depth, shape, output) {
    let { opening, base } = shape;
    const circular = mapGet(context.circular, value);
    if (circular !== undefined) {
        if (base !== undefined) base = `<ref *${circular}> ${base}`;
        else opening = `<ref *${circular}> ${opening}`;
    }
    const open = `${opening}${shape.open ?? '{'}`;
    const close = shape.close ?? '}';
    // As Node: an object joins one line while it holds at most `compact` inner levels.
    if (context.compact !== true && typeof context.compact === 'number' && context.compact >= 1) {
        const entries = output.length;
        if (shape.list && entries > 6) output = grouped(context, output, value);
        if (context.level - depth < context.compact && entries === output.length) {
            const start = output.length + context.indentation + open.length + (base?.length ?? 0) + 10;
            if (fits(context, output, start, base)) {
                const line = join(output, ', ');
                if (!includes(line, '\n')) return `${base ? `${base} ` : ''}${open} ${line} ${close}`;
            }
        }
    }
    if (context.compact === true && fits(context, output, 0, base)) {
        return `${open}${base ? ` ${base}` : ''} ${join(output, ', ')} ${close}`;
    }
    const indent = `\n${repeat(' ', context.indentation)}`;
    return `${base ? `${base} ` : ''}${open}${indent}  ${join(output, `,${indent}  `)}${indent}${close}`;
}

function fits(context, output, start, base) {
    let total = output.length + start;
    if (total + output.length > context.breakLength) return false;
    for (let i = 0; i < output.length; i++) {
        total += output[i].length;
        if (total > context.breakLength) return false;
    }
    return base === undefined || base === '' || !includes(base, '\n');
}

// Sets the items of a long array in columns.
function grouped(context, output, value) {
    const extra = context.maxArrayLength < output.length ? 1 : 0; // "... more items" stays outside
    const count = output.length - extra;
    const widths = [];
    let total = 0;
    let widest = 0;
    for (let i = 0; i < count; i++) {
        const width = displayWidth(output[i]);
        push(widths, width);
        total += width + 2;
        widest = max(widest, width);
    }
    const cell = widest + 2;
    if (cell * 3 + context.indentation >= context.breakLength || !(total / cell > 5 || widest <= 6)) return output;
    // Node's taste: about 2.5 times as wide as high, and narrower the more the widths vary.
    const biased = max(cell - 3 - sqrt(cell - total / output.length), 1);
    const columns = min(
        round(sqrt(2.5 * biased * count) / biased),
        floor((context.breakLength - context.indentation) / cell),
        context.compact * 4,
        15);
    if (columns <= 1) return output;
    return setInColumns(output, widths, count, columns, value);
}

function setInColumns(output, widths, count, columns, value) {
    const columnWidths = [];
    for (let column = 0; column < columns; column++) {
        let width = 0;
        for (let i = column; i < count; i += columns) width = max(width, widths[i]);
        push(columnWidths, width + 2);
    }
    let pad = padStart;
    for (let i = 0; i < count; i++) {
        if (typeof value[i] !== 'number' && typeof value[i] !== 'bigint') {
            pad = padEnd;
            break;
        }
    }
    const lines = [];
    for (let start = 0; start < count; start += columns) {
        const end = min(start + columns, count);
        let line = '';
        for (let i = start; i < end - 1; i++) {
            line += pad(`${output[i]}, `, columnWidths[i - start] + output[i].length - widths[i], ' ');
        }
        const last = output[end - 1];
        const width = columnWidths[end - 1 - start] + last.length - widths[end - 1] - 2;
        push(lines, line + (pad === padStart ? padStart(last, width, ' ') : last));
    }
    if (count < output.length) push(lines, output[count]);
    return lines;
}

// Columns that a text takes on a terminal: wide characters take two, combining ones none.
function displayWidth(text) {
    let width = 0;
    for (let i = 0; i < text.length; i++) {
        const code = charCodeAt(text, i);
        if (code >= 0xdc00 && code <= 0xdfff) continue;
        if (code < 0x1100) width += code >= 0x300 && code <= 0x36f ? 0 : 1;
        else width += isWide(code) ? 2 : isZeroWidth(code) ? 0 : 1;
    }
    return width;
}

const isWide = (code) => code <= 0x115f || (code >= 0x2e80 && code <= 0xa4cf && code !== 0x303f) ||
    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) || (code >= 0xd83c && code <= 0xd83e);

const isZeroWidth = (code) => (code >= 0x200b && code <= 0x200f) || (code >= 0x20d0 && code <= 0x20ff) ||
    (code >= 0xfe00 && code <= 0xfe0f);

const plainContext = { ...defaults, indentation: 0 };

function inspect(value, options) {
    if (options === undefined && !isObject(value)) return formatPrimitive(plainContext, value);
    const given = isObject(options) ? options : {};
    const context = { seen: [], circular: new PrimordialMap(), indentation: 0, level: 0 };
    const names = objectKeys(defaults);
    for (let i = 0; i < names.length; i++) {
        context[names[i]] = given[names[i]] === undefined ? defaults[names[i]] : given[names[i]];
    }
    if (typeof options === 'boolean') { // the older signature: showHidden, depth
        context.showHidden = options;
        if (arguments[2] !== undefined) context.depth = arguments[2];
    }
    if (context.depth === Infinity) context.depth = null;
    if (context.maxArrayLength === null) context.maxArrayLength = Infinity;
    if (context.maxStringLength === null) context.maxStringLength = Infinity;
    context.options = context;
    return formatValue(context, value, 0);
}
inspect.custom = customInspect;
inspect.defaultOptions = defaults;
