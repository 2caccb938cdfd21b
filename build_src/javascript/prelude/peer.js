// Two interpreters as one: the tests run in one, the program in the other. Whatever a value can show
// exists twice, and each side tells the other of its changes when it hands over control. Functions
// are called where they are.
//
// A message is JSON: [what, new objects, changes, ids no longer needed, names], 0 for none. A value stands
// for itself, or is an array: ['u'] undefined, ['n', '-0'] a number that JSON lacks, ['i', '12'] a
// bigint, ['k', path] a builtin, ['y', key] or ['s', id, text] a symbol, [id] an object. An object is
// [id, kind, prototype, level, items, properties, more], or [id, items]: an array that has nothing
// else, also in its place among the items of another.
//
// The side of the tests takes nothing for granted about a message. What the program may do to an
// object of the tests is: call or construct a function that it was given, move an iterator, settle a
// promise, and set the properties and items of an object.

const { for: symbolFor, keyFor, toPrimitive, hasInstance } = PrimordialSymbol;
const symbolDescription = uncurry(getOwnPropertyDescriptor(PrimordialSymbol.prototype, 'description').get);
const regExpSource = uncurry(getOwnPropertyDescriptor(RegExp.prototype, 'source').get);
const regExpFlags = uncurry(getOwnPropertyDescriptor(RegExp.prototype, 'flags').get);
const mapDelete = uncurry(Map.prototype.delete);
const mapClear = uncurry(Map.prototype.clear);
const setClear = uncurry(Set.prototype.clear);
const dateSetTime = uncurry(Date.prototype.setTime);
const weakMapDelete = uncurry(WeakMap.prototype.delete);
const { setPrototypeOf, isFrozen, isSealed, freeze, seal } = Object;
const PrimordialUint32Array = Uint32Array;
const viewParts = ['buffer', 'byteOffset', 'byteLength'].map((name) => [
    uncurry(getOwnPropertyDescriptor(TypedArrayPrototype, name).get), uncurry(getOwnPropertyDescriptor(DataView.prototype, name).get)]);
const { construct, deleteProperty } = Reflect;
const PrimordialWeakMap = WeakMap;
const PrimordialWeakRef = WeakRef;
const weakly = uncurry(WeakRef.prototype.deref);
const ObjectPrototype = Object.prototype;
const FunctionPrototype = Function.prototype;
const ArrayPrototype = Array.prototype;
const indirectEval = eval;

// A collection that keeps its methods, whatever a program does to the prototype: a call of these is
// much cheaper than one through `uncurry`.
function own(collection) {
    for (const name of ['get', 'set', 'has', 'delete']) hide(collection, name, collection[name]);
    return collection;
}

// --- builtins, which both sides have ------------------------------------------------------------

const builtinPaths = own(new PrimordialMap());
const builtinsByPath = { __proto__: null };

function knowBuiltin(path, value) {
    if (builtinPaths.has(value)) return;
    builtinPaths.set(value, path);
    builtinsByPath[path] = value;
}

function knowMethods(path, object) {
    const names = getOwnPropertyNames(object);
    for (let i = 0; i < names.length; i++) {
        const method = getOwnPropertyDescriptor(object, names[i]).value;
        if (typeof method === 'function' && names[i] !== 'constructor') knowBuiltin(`${path}.${names[i]}`, method);
    }
}

const iteratorPrototypes = {
    __proto__: null,
    Generator: getPrototypeOf(function* () {}.prototype),
    AsyncGenerator: getPrototypeOf(async function* () {}.prototype),
    MapIterator: mapIterators,
    SetIterator: setIterators,
    ArrayIterator: getPrototypeOf([][PrimordialSymbol.iterator]()),
    StringIterator: getPrototypeOf(''[PrimordialSymbol.iterator]()),
    MatchIterator: getPrototypeOf(''.matchAll(/x/g)),
    IteratorHelper: getPrototypeOf([].values().map(String)),
};

// The text of a program's function is asked of the program.
hide(FunctionPrototype, 'toString', {
    toString() {
        const record = isJudge && isObject(this) ? recordOf.get(this) : undefined;
        return record === undefined || record.isOwn || record.kind !== 'f' ? functionText(this) : ask(`"text",[${record.id}]`);
    },
}.toString);

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
    for (const name of objectKeys(iteratorPrototypes)) knowBuiltin(`${name}.prototype`, iteratorPrototypes[name]);
    const functions = { AsyncFunction: async () => {}, GeneratorFunction: function* () {}, AsyncGeneratorFunction: async function* () {} };
    for (const name of objectKeys(functions)) knowBuiltin(`${name}.prototype`, getPrototypeOf(functions[name]));
    knowBuiltin('Iterator.prototype', getPrototypeOf(mapIterators));
    knowBuiltin('TypedArray.prototype', TypedArrayPrototype);
    knowBuiltin('EventEmitter.prototype', EventEmitter.prototype);
    knowBuiltin('AssertionError', AssertionError);
    knowBuiltin('AssertionError.prototype', AssertionError.prototype);
    for (const name of ['globalThis', 'Math', 'JSON', 'Reflect', 'console', 'process', 'performance']) {
        knowBuiltin(name, globalThis[name]);
        knowMethods(name, globalThis[name]);
    }
    knowMethods('process.stdout', process.stdout);
}

// The kind of an object by the builtin prototype that it has: how to make sure, and what it can do.
const holders = own(new PrimordialMap());
for (const [prototype, kind, check] of [
    [Map.prototype, 'm', isMap], [Set.prototype, 's', isSet], [Date.prototype, 'd', isDate], [RegExp.prototype, 'x', isRegExp],
    [Error.prototype, 'e', isError], [ArrayBuffer.prototype, 'b', isArrayBuffer], [TypedArrayPrototype, 't', isTypedArray],
    [DataView.prototype, 't', isDataView],
    [Promise.prototype, 'w', isPromise], [ArrayPrototype, 'o', undefined], [ObjectPrototype, 'o', undefined],
]) holders.set(prototype, { kind, check, methods: [] });
for (const constructor of [Number, String, Boolean, BigInt, PrimordialSymbol]) {
    holders.set(constructor.prototype, { kind: 'p', check: (value) => boxed(value) !== undefined, methods: [] });
}
for (const name of objectKeys(iteratorPrototypes)) {
    holders.set(iteratorPrototypes[name], { kind: 'g', check: undefined, methods: ['next', 'return', 'throw'] });
}
for (const constructor of [WeakMap, WeakSet, WeakRef]) {
    const methods = getOwnPropertyNames(constructor.prototype).filter((name) => name !== 'constructor');
    holders.set(constructor.prototype, { kind: 'g', check: undefined, methods });
}

const isPrototype = (value) => {
    const constructor = getOwnPropertyDescriptor(value, 'constructor')?.value;
    return typeof constructor === 'function' && getOwnPropertyDescriptor(constructor, 'prototype')?.value === value;
};

function holderOf(value) {
    for (let at = getPrototypeOf(value); at !== null; at = getPrototypeOf(at)) {
        const holder = holders.get(at);
        if (holder === undefined) continue;
        if (holder.check === undefined ? holder.kind === 'o' || !isPrototype(value) : holder.check(value)) return holder;
        break;
    }
    return holders.get(ObjectPrototype);
}

// --- what this side has given away, and what it holds of the other ------------------------------

let isJudge = false;
let sign = -1; // of the ids of this side's own objects
let given = 0;
let fresh = []; // given away in the next message
let begun = 0; // how many of these are described
const records = own(new PrimordialMap()); // by id
const listed = []; // the same
const recordOf = own(new PrimordialWeakMap());
const symbolIds = own(new PrimordialMap());
const symbolsById = own(new PrimordialMap());

// `held` keeps the object alive. Of an object of the other side it is dropped for a moment in each
// message: an object that `weak` does not find then is used by nobody here.
function register(object, id, kind) {
    const isOwn = (id < 0) === (sign < 0);
    const record = { id, kind, isOwn, held: object, weak: isOwn ? undefined : new PrimordialWeakRef(object), isScanned: true };
    records.set(id, record);
    listed[listed.length] = record;
    recordOf.set(object, record);
    return record;
}

function forget(record) {
    records.delete(record.id);
    if (record.held !== undefined) recordOf.delete(record.held);
    record.held = record.state = undefined; // and is no more listed after the next message
}

// --- values as text ------------------------------------------------------------------------------

function numberCode(value) {
    return value - value !== 0 || (value === 0 && 1 / value < 0) ? `["n","${value === 0 ? '-0' : value}"]` : `${value}`;
}

function code(value) {
    switch (typeof value) {
    case 'string': return jsonStringify(value);
    case 'number': return numberCode(value);
    case 'boolean': return value ? 'true' : 'false';
    case 'undefined': return '["u"]';
    case 'bigint': return `["i","${value}"]`;
    default:
    }
    if (value === null) return 'null';
    const path = builtinPaths.get(value);
    if (path !== undefined) return `["k",${jsonStringify(path)}]`;
    return typeof value === 'symbol' ? symbolCode(value) : `[${(recordOf.get(value) ?? give(value)).id}]`;
}

function give(object) {
    const record = register(object, sign * ++given, '');
    fresh[fresh.length] = record;
    return record;
}

function symbolCode(value) {
    const key = keyFor(value);
    if (key !== undefined) return `["y",${jsonStringify(key)}]`;
    if (!symbolIds.has(value)) keepSymbol(sign * ++given, value);
    return `["s",${symbolIds.get(value)},${jsonStringify(symbolDescription(value) ?? null)}]`;
}

function keepSymbol(id, symbol) {
    symbolIds.set(symbol, id);
    symbolsById.set(id, symbol);
    return symbol;
}

function codes(values) {
    let text = '';
    for (let i = 0; i < values.length; i++) text += i > 0 ? `,${code(values[i])}` : code(values[i]);
    return text;
}

const HOLE = PrimordialSymbol('hole');
const SPARSE = PrimordialSymbol('sparse'); // instead of items, before the length
const MANY = 10000; // items of an array from which on it is not asked for other properties

// What an object holds at the moment: its items, and its properties as [key, flags, value, setter].
function look(object, record) {
    let items = [];
    let from = 0;
    switch (record.kind) {
    case 'a': {
        const { length } = object;
        if (length > MANY && objectKeys(object).length < length / 2) {
            return { items: [SPARSE, length], properties: properties(object, record, 0), level: levelOf(object, record) };
        }
        // Not by a method, which would make an array of the same class.
        for (let i = 0; i < length; i++) {
            const item = object[i];
            items[i] = item === undefined && !hasOwn(object, i) ? HOLE : item;
        }
        from = items.length;
        break;
    }
    case 'm': mapForEach(object, (value, key) => push(items, key, value)); break;
    case 's': setForEach(object, (value) => push(items, value)); break;
    case 'd': items = [dateTime(object)]; break;
    case 'x': items = [object.lastIndex]; break;
    case 't': from = isTypedArray(object) ? typedArrayLength(object) : 0; break;
    case 'b': {
        const words = wordsOf(object);
        for (let i = 0; i < typedArrayLength(words); i++) push(items, words[i]);
        break;
    }
    default:
    }
    return { items, properties: properties(object, record, from), level: levelOf(object, record) };
}

const wordsOf = (buffer) => (bufferLength(buffer) % 4 === 0 ? new PrimordialUint32Array(buffer) : new PrimordialUint8Array(buffer));

// How far an object can be changed: 1 as usual, 0 has no new properties, 2 is a sealed array, 3 a
// frozen one, 4 an array of fixed length.
function levelOf(object, { kind }) {
    if (kind !== 'a') return isExtensible(object) ? 1 : 0;
    if (isExtensible(object)) return isCareful && !getOwnPropertyDescriptor(object, 'length').writable ? 4 : 1;
    return isFrozen(object) ? 3 : isSealed(object) ? 2 : 0;
}

function setLevel(object, level) {
    if (level === 0) preventExtensions(object);
    else if (level === 2) seal(object);
    else if (level === 3) freeze(object);
    else if (level === 4) defineOwn(object, 'length', { __proto__: null, writable: false });
}

const functionOwn = ['length', 'name', 'prototype', 'arguments', 'caller'];

function properties(object, record, from) {
    const found = [];
    const { kind } = record;
    const keys = ownKeys(object);
    if (kind === 'f' ? keys.length === record.usual : keys.length === from + (kind === 'a' ? 1 : 0)) return found;
    for (let i = from; i < keys.length; i++) {
        const key = keys[i];
        if (kind === 'a' && key === 'length') continue;
        if (kind === 'x' && key === 'lastIndex') continue;
        if (kind === 'p' && isBoxedText(object, key)) continue;
        if (kind === 'f' && arrayIndexOf(functionOwn, key) >= 0 && !isStatic(object, key)) continue;
        const own = getOwnPropertyDescriptor(object, key);
        if (own === undefined) continue;
        const flags = (own.enumerable ? 2 : 0) + (own.configurable ? 4 : 0);
        if (!hasOwn(own, 'value')) {
            if (!isGuard(own.get)) push(found, key, flags + 8, own.get, own.set);
        }
        else if (!isGuard(own.value)) push(found, key, flags + (own.writable ? 1 : 0), own.value, undefined);
    }
    return found;
}

const isBoxedText = (object, key) => key === 'length' || (typeof key === 'string' && patternTest(/^[0-9]+$/, key) && hasOwn(object, 'length'));

// Whether a class has a member of its own in the place of what every function has.
function isStatic(object, key) {
    if (key !== 'name' && key !== 'length') return false;
    const own = getOwnPropertyDescriptor(object, key);
    return typeof own.value !== (key === 'name' ? 'string' : 'number');
}

function stateCode({ items, properties: pairs, level }) {
    let text = '';
    for (let i = 0; i < pairs.length; i += 4) {
        const flags = pairs[i + 1];
        const value = flags === 7 ? code(pairs[i + 2])
            : flags >= 8 ? `["g",${flags - 8},${code(pairs[i + 2])},${code(pairs[i + 3])}]` : `["d",${flags},${code(pairs[i + 2])}]`;
        text += `${i > 0 ? ',' : ''}${code(pairs[i])},${value}`;
    }
    return `${level},[${itemsCode(items)}],[${text}]`;
}

function itemsCode(items) {
    let isPlain = true; // numbers that JSON writes as JavaScript does
    for (let i = 0; i < items.length && isPlain; i++) {
        const item = items[i];
        isPlain = typeof item === 'number' && item - item === 0 && (item !== 0 || 1 / item > 0);
    }
    if (isPlain) return join(items, ',');
    let text = '';
    if (items[0] === SPARSE) return `["-",${items[1]}]`;
    for (let i = 0; i < items.length; i++) text += `${i > 0 ? ',' : ''}${items[i] === HOLE ? '["-"]' : code(items[i])}`;
    return text;
}

// An array that has items alone, and is not too deep in others to be described there.
const isUsual = (array, depth) => depth < 9 && !isCareful && getPrototypeOf(array) === ArrayPrototype && isExtensible(array) && !proxies.has(array)
    && areOfItems(ownKeys(array), array.length + 1);

function usualCode(record, depth) {
    const { held: array } = record;
    const { length } = array;
    const items = []; // not by a method, which a program may have changed
    let isPlain = true;
    for (let i = 0; i < length; i++) {
        const item = items[i] = array[i];
        if (isPlain) isPlain = typeof item === 'number' && item - item === 0 && (item !== 0 || 1 / item > 0);
    }
    let text = '';
    if (isPlain) text = join(items, ',');
    else for (let i = 0; i < length; i++) {
        const item = items[i];
        if (i > 0) text += ',';
        text += isArray(item) && !recordOf.has(item) && isUsual(item, depth) ? usualCode(give(item), depth + 1) : code(item);
    }
    record.kind = 'a';
    record.prototype = ArrayPrototype;
    record.state = { items, properties: NOTHING, level: 1 };
    return `[${record.id},[${text}]]`;
}

const NOTHING = [];

const same = (a, b) => a === b || (a !== a && b !== b);

function sameState(a, b) {
    if (a.items.length !== b.items.length || a.properties.length !== b.properties.length || a.level !== b.level) return false;
    for (let i = 0; i < a.items.length; i++) if (!same(a.items[i], b.items[i])) return false;
    for (let i = 0; i < a.properties.length; i++) if (!same(a.properties[i], b.properties[i])) return false;
    return true;
}

let keepsAll = false; // where weak references may know an object that nobody else holds
let isCareful = false; // where a property may become an accessor that gives the same value

// Whether an object of the most frequent kinds is as it was told last. Saves to describe it anew.
function isAsTold(object, record) {
    const { kind } = record;
    const { items, properties: pairs, level } = record.state;
    if (isCareful && kind !== 'a') return false;
    if ((level === 1) !== isExtensible(object)) return false;
    if (kind === 'a') {
        if (level !== 1 || object.length !== items.length || pairs.length > 0) return false;
        for (let i = 0; i < items.length; i++) if (object[i] !== items[i]) return false;
        return true;
    }
    if (kind !== 'o' && kind !== 'f') return false;
    const keys = ownKeys(object);
    const usual = keys.length - pairs.length / 4;
    if (usual !== (kind === 'f' ? record.usual : 0)) return false;
    for (let i = 0; i < pairs.length; i += 4) {
        if (keys[usual + i / 4] !== pairs[i]) return false;
        const value = pairs[i + 1] < 8 ? object[pairs[i]] : getOwnPropertyDescriptor(object, pairs[i]).get;
        if (value !== pairs[i + 2]) return false;
    }
    return true;
}

const bare = own(new PrimordialWeakMap()); // functions of ours, of which the other side gets the call alone
const kept = own(new PrimordialWeakMap()); // functions of ours that the other side may not call

function described(record) {
    const object = record.held;
    if (isArray(object) && isUsual(object, 0)) return usualCode(record, 1);
    let more = '0';
    let usual = ObjectPrototype;
    if (proxies.has(object)) {
        record.kind = 'q';
        record.isScanned = false;
        return `[${record.id},"q",0,1,[],[],${typeof object === 'function' ? 2 : isArray(object) ? 1 : 0}]`;
    }
    if (typeof object === 'function') {
        record.kind = 'f';
        usual = FunctionPrototype;
        more = functionCode(object, record);
        if (bare.has(object)) {
            record.isScanned = false;
            return `[${record.id},"f",0,1,[],[],${more}]`;
        }
    }
    const prototype = getPrototypeOf(object);
    if (record.kind === 'f') {
        // said above
    } else if (isArray(object)) {
        record.kind = 'a';
        usual = ArrayPrototype;
    } else if (prototype === ObjectPrototype || prototype === null) {
        record.kind = prototype !== null && objectTag(object) === '[object Arguments]' && !(PrimordialSymbol.toStringTag in object) ? 'r' : 'o';
    } else {
        const { kind, methods } = holderOf(object);
        record.kind = kind;
        if (kind === 'g') {
            record.methods = methods;
            more = jsonStringify(join(methods, ' '));
        } else if (kind === 't') more = viewCode(object);
        else if (kind === 'b') more = `${bufferLength(object)}`;
        else if (kind === 'x') more = `[${jsonStringify(regExpSource(object))},${jsonStringify(toText(regExpFlags(object)))}]`;
        else if (kind === 'p') more = code(boxed(object)[1]);
        else if (kind === 'w') follow(object, record);
    }
    const state = record.state = look(object, record);
    record.prototype = prototype;
    if (record.kind === 'f') record.isScanned = record.flavor !== 1 || state.properties.length > 0;
    return `[${record.id},"${record.kind}",${prototype === usual ? 0 : code(prototype)},${stateCode(state)},${more}]`;
}

// A typed array or a DataView: its kind, its memory, and which part of that it shows.
function viewCode(view) {
    const name = typedArrayName(view);
    const [buffer, offset, size] = viewParts.map((read) => read[name === undefined ? 1 : 0](view));
    const count = name === undefined ? size : typedArrayLength(view);
    return `[${jsonStringify(name ?? 'DataView')},${code(buffer)},${offset},${count}]`;
}

// How a function can be called: 0 with and without `new`, 1 without, 2 with it alone.
function functionCode(object, record) {
    const own = getOwnPropertyDescriptor(object, 'prototype');
    const held = own?.value;
    const isMade = isObject(held) && getOwnPropertyDescriptor(held, 'constructor')?.value === object;
    record.flavor = !isMade ? 1 : own.writable ? 0 : 2;
    // A prototype as every function of the program has it follows with the first object that has it.
    const isUsual = !isJudge && record.flavor === 0 && getPrototypeOf(held) === ObjectPrototype && ownKeys(held).length === 1;
    const name = getOwnPropertyDescriptor(object, 'name')?.value;
    const length = getOwnPropertyDescriptor(object, 'length')?.value;
    if (typeof name === 'string' && typeof length === 'number') record.usual = own === undefined ? 2 : 3;
    return `[${record.flavor},${jsonStringify(typeof name === 'string' ? name : '')},${typeof length === 'number' ? numberCode(length) : 0},${isObject(held) && !isUsual ? code(held) : 0}]`;
}

// Tells the other side how a promise ends.
function follow(promise, { id }) {
    const tell = (isGood) => (value) => {
        if (!isGood) handOver(value);
        if (records.has(id)) ask(`"settle",[${id}],${isGood},${code(value)}`);
    };
    promiseThen(promise, tell(true), tell(false));
}

function changeCode(record, isFirst) {
    const prototype = getPrototypeOf(record.held);
    const isMoved = prototype !== record.prototype;
    if (!isMoved && isAsTold(record.held, record)) return '';
    const patch = isMoved || record.kind !== 'a' ? '' : patchCode(record.held, record.state);
    if (patch !== '') return `${isFirst ? '' : ','}[${record.id},1,[["~"${patch}]],[]]`;
    const state = look(record.held, record);
    if (!isMoved && sameState(state, record.state)) return '';
    record.state = state;
    record.prototype = prototype;
    return `${isFirst ? '' : ','}[${record.id},${stateCode(state)}${isMoved ? `,${code(prototype)}` : ''}]`;
}

// The items of an array that are others now, if they are few; else ''.
function patchCode(array, { items, properties: pairs, level }) {
    if (level !== 1 || array.length !== items.length || pairs.length > 0 || !isExtensible(array)) return '';
    const places = [];
    for (let i = 0; i < items.length; i++) {
        if (array[i] === items[i]) continue;
        if (array[i] === undefined || 4 * places.length > items.length) return '';
        push(places, i);
    }
    let text = '';
    for (let i = 0; i < places.length; i++) text += `,${places[i]},${code(items[places[i]] = array[places[i]])}`;
    return text;
}

const listOf = (text) => (text === '' ? '0' : `[${text}]`);

// A whole message, of which `head` says what it is for.
function message(head) {
    let gone = '';
    let names = '';
    try {
        let changed = '';
        let kept = 0;
        const count = listed.length; // those that are added now are described anyway
        for (let i = 0; i < listed.length; i++) {
            const record = listed[i];
            if (i < count && record.isScanned && record.state !== undefined && record.held !== undefined) changed += changeCode(record, changed === '');
            if (!record.isOwn && !keepsAll) {
                record.held = undefined;
                record.held = weakly(record.weak);
            }
            if (record.held !== undefined) {
                listed[kept++] = record;
                continue;
            }
            record.state = undefined; // what it alone holds has gone, too
            if (!record.isOwn) gone += `${gone === '' ? '' : ','}${record.id}`;
            records.delete(record.id);
        }
        listed.length = kept;
        for (let i = 0; i < cells.length; i++) {
            const cell = cells[i];
            let value = UNSET;
            try {
                value = cell.read();
            } catch {
                // not declared, or not yet
            }
            if (value !== cell.last) names += cellCode(cell, value, names === '');
        }
        let news = '';
        for (; begun < fresh.length; begun++) {
            if (fresh[begun].state === undefined) news += `${news === '' ? '' : ','}${described(fresh[begun])}`;
        }
        fresh = [];
        begun = 0;
        if (news === '' && changed === '' && names === '' && gone === '') return `[[${head}]]`;
        return `[[${head}],${listOf(news)},${listOf(changed)},${listOf(gone)},${listOf(names)}]`;
    } catch (error) {
        for (let i = 0; i < fresh.length; i++) forget(fresh[i]);
        fresh = [];
        begun = 0;
        throw error;
    }
}

// --- names that one side has and the other may use ------------------------------------------------

const cells = []; // { name, read, last }
const UNSET = PrimordialSymbol('unset');

function cellCode(cell, value, isFirst) {
    if (same(value, cell.last) || value === UNSET || (!isJudge && builtinPaths.get(value) === cell.name)) return '';
    cell.last = value;
    return `${isFirst ? '' : ','}[${jsonStringify(cell.name)},${code(value)}]`;
}

// --- values from text -----------------------------------------------------------------------------

const NO_MEANING = 'the other side sent what has no meaning';

function nonsense() {
    throw new PrimordialError(NO_MEANING);
}

let isAnswer = true; // a message that the program was asked for

function decode(part) {
    if (!isArray(part)) return isObject(part) ? nonsense() : part;
    const first = part[0];
    const second = part[1];
    if (typeof first === 'number') return (part.length === 2 ? fillUsual(newArray(first, second)) : records.get(first) ?? nonsense()).held;
    switch (first) {
    case 'u': return undefined;
    case 'n': return toNumber(typeof second === 'string' ? second : nonsense());
    case 'i': return typeof second === 'string' && patternTest(/^-?[0-9]+$/, second) ? BigInt(second) : nonsense();
    case 'k': return builtin(second);
    case 'y': return typeof second === 'string' ? symbolFor(second) : nonsense();
    case 's': return symbolOf(second, part[2]);
    default: return nonsense();
    }
}

function decodeAll(parts) {
    if (!isArray(parts)) nonsense();
    const values = [];
    for (let i = 0; i < parts.length; i++) {
        const part = parts[i];
        values[i] = typeof part === 'object' && part !== null ? decode(part) : part;
    }
    return values;
}

function symbolOf(id, text) {
    if (typeof id !== 'number' || (text !== null && typeof text !== 'string')) nonsense();
    return symbolsById.get(id) ?? keepSymbol(id, PrimordialSymbol(text ?? undefined));
}

// A program may name constructors and prototypes in its answers. Any other builtin that it names, it
// gets called in its own interpreter.
const passable = [];

function builtin(path) {
    const value = typeof path === 'string' ? builtinsByPath[path] : undefined;
    if (value === undefined) nonsense();
    if (!isJudge || typeof value === 'symbol' || (isAnswer && arrayIndexOf(passable, value) >= 0)) return value;
    if (typeof value !== 'function') return {};
    const { made } = {
        made(...values) {
            if (thens.has(made)) expectCall(values);
            return ask(`"call",["k",${jsonStringify(path)}],${code(this)},[${codes(values)}]`);
        },
    };
    return made;
}

function prototypeOf(part, kind) {
    if (part === 0) return kind === 'f' ? FunctionPrototype : kind === 'a' ? ArrayPrototype : ObjectPrototype;
    if (part === null) return null;
    if (isArray(part) && part[0] === 'k') {
        const value = typeof part[1] === 'string' && endsWith(part[1], '.prototype') ? builtinsByPath[part[1]] : undefined;
        // A class may extend another one: the prototype of a function is a function.
        return value ?? (typeof part[1] === 'string' && kind === 'f' && typeof builtinsByPath[part[1]] === 'function' ? builtinsByPath[part[1]] : nonsense());
    }
    const value = decode(part);
    return isObject(value) ? value : nonsense();
}

function emptyObject(id, kind, more, items) {
    switch (kind) {
    case 'o': return {};
    case 'a': return items; // which JSON made
    case 'f': return emptyFunction(more);
    case 'm': return new PrimordialMap();
    case 's': return new PrimordialSet();
    case 'd': return new Date(0);
    case 'x': return isArray(more) && typeof more[0] === 'string' && typeof more[1] === 'string' ? new RegExp(more[0], more[1]) : nonsense();
    case 'e': return new PrimordialError();
    case 'b': return new ArrayBuffer(more);
    case 't': {
        const make = isArray(more) ? typedArrays[more[0]] : undefined;
        const buffer = make === undefined ? undefined : decode(more[1]);
        return isArrayBuffer(buffer) ? new make(buffer, more[2], more[3]) : nonsense();
    }
    case 'r': return (function () { return arguments; })();
    case 'p': return more !== null && !isObject(decode(more)) ? Object(decode(more)) : nonsense();
    case 'w': return undefined;
    case 'g': return remote(id, more);
    case 'q': return remoteProxy(id, more);
    default: return nonsense();
    }
}

const typedArrays = { __proto__: null, DataView };
for (const name of getOwnPropertyNames(globalThis)) {
    if (endsWith(name, 'Array') && name !== 'Array') typedArrays[name] = globalThis[name];
}

function remote(id, names) {
    const made = {};
    const methods = split(typeof names === 'string' ? names : nonsense(), ' ');
    for (let i = 0; i < methods.length; i++) {
        hide(made, methods[i], (...values) => ask(`"method",[${id}],${jsonStringify(methods[i])},[${codes(values)}]`));
        bare.set(made[methods[i]], true);
    }
    return made;
}

// A Proxy of the other side: it is asked for everything.
function remoteProxy(id, shape) {
    const asks = (name, ...values) => ask(`"trap",[${id}],"${name}",[${codes(values)}]`);
    const convert = guardWith(() => asks('get', toPrimitive));
    return new PrimordialProxy(shape === 2 ? function () {} : shape === 1 ? [] : {}, {
        __proto__: null,
        get: (target, key) => {
            if (key === toPrimitive && isJudge) return convert;
            const value = knownThen(key, asks('get', key));
            return key === hasInstance && isJudge && typeof value === 'function' ? guardedCheck(() => value) : value;
        },
        set: (target, key, value) => asks('set', key, value),
        has: (target, key) => asks('has', key),
        deleteProperty: (target, key) => asks('deleteProperty', key),
        getPrototypeOf: () => asks('getPrototypeOf'),
        ownKeys: () => asks('ownKeys'),
        apply: (target, self, values) => asks('apply', self, values),
        construct: (target, values) => asks('construct', values),
        getOwnPropertyDescriptor: (target, key) => {
            const own = asks('getOwnPropertyDescriptor', key);
            const fixed = getOwnPropertyDescriptor(target, key);
            return own === undefined || fixed !== undefined ? fixed : { ...own, __proto__: null, configurable: true };
        },
        defineProperty: (target, key, own) => asks('defineProperty', key, own),
    });
}

const traps = { __proto__: null };
for (const name of ['get', 'set', 'has', 'deleteProperty', 'getPrototypeOf', 'ownKeys', 'apply', 'construct', 'getOwnPropertyDescriptor', 'defineProperty']) {
    traps[name] = Reflect[name];
}

// The engine does not tell which objects are proxies.
const proxies = own(new PrimordialWeakMap());
const PrimordialProxy = Proxy;

function known(proxy) {
    proxies.set(proxy, true);
    return proxy;
}
hide(globalThis, 'Proxy', new PrimordialProxy(PrimordialProxy, {
    __proto__: null,
    construct: (target, values) => known(construct(PrimordialProxy, values)),
    get: (target, key) => (key === 'revocable' ? revocable : target[key]),
}));
const revocable = (...values) => {
    const made = apply(PrimordialProxy.revocable, PrimordialProxy, values);
    known(made.proxy);
    return made;
};

function emptyFunction(more) {
    if (!isArray(more) || typeof more[1] !== 'string' || typeof more[2] !== 'number') nonsense();
    const flavor = more[0];
    const name = more[1];
    let made; // closures over few variables: a run pays for each that it touches first
    if (flavor === 1) ({ made } = { made(...values) { return invoke(made, this, values); } });
    else made = function (...values) { return invoke(made, this, values, new.target); };
    defineProperty(made, 'name', { value: name, configurable: true });
    defineProperty(made, 'length', { value: more[2], configurable: true });
    return made;
}

function invoke(made, self, values, target) {
    const { id, flavor } = recordOf.get(made);
    if (target !== undefined) {
        return ask(`"new",[${id}],[${codes(values)}],${target === made ? 'null' : code(target)}`);
    }
    if (flavor === 2) throw new PrimordialTypeError(`Class constructor ${made.name} cannot be invoked without 'new'`);
    if (thens.has(made)) expectCall(values);
    return ask(self === undefined ? `"run",[${id}],[${codes(values)}]` : `"call",[${id}],${code(self)},[${codes(values)}]`);
}

function newRecord(id, kind, object) {
    if (typeof id !== 'number' || (id < 0) === (sign < 0) || id === 0 || records.has(id)) nonsense();
    return register(object, id, kind);
}

const newArray = (id, items) => newRecord(id, 'a', isArray(items) ? items : nonsense());

function created(part) {
    if (!isArray(part) || (part.length !== 7 && part.length !== 2)) nonsense();
    const id = part[0];
    if (part.length === 2) return newArray(id, part[1]);
    const kind = part[1];
    const items = part[4];
    const more = part[6];
    if (!isArray(items)) nonsense();
    const settle = kind === 'w' ? { mark: lost.length } : undefined;
    const object = kind === 'w'
        ? new PrimordialPromise((resolve, reject) => { settle.resolve = resolve; settle.reject = reject; })
        : emptyObject(id, kind, more, items);
    const record = newRecord(id, kind, object);
    record.settle = settle;
    if (kind === 'w' && isJudge) watch(object, settle);
    if (kind === 'f') {
        record.flavor = more[0];
        record.isScanned = !isJudge || more[0] !== 1;
        record.usual = more[0] === 1 ? 2 : 3;
    }
    return record;
}

function completed(record, part) {
    const { kind, held: object } = record;
    if (kind === 'q') return;
    if (part.length === 2) {
        fillUsual(record);
        return;
    }
    const prototype = prototypeOf(part[2], kind);
    if (getPrototypeOf(object) !== prototype) setPrototypeOf(object, prototype);
    record.prototype = prototype;
    if (kind === 'f' && isArray(part[6][3])) {
        const held = decode(part[6][3]);
        defineProperty(object, 'prototype', { value: isObject(held) ? held : nonsense(), writable: part[6][0] !== 2 });
        if (isJudge && instanceOf(object, AssertionError.prototype)) hide(object, hasInstance, guardedCheck(() => FunctionPrototype[hasInstance]));
    }
    fill(record, part[3], part[4], part[5]);
}

// Decodes the items of an array that JSON made.
function fillUsual(record) {
    const items = decodedItems(record.held);
    record.prototype = ArrayPrototype;
    record.state = items === undefined ? look(record.held, record) : { items, properties: NOTHING, level: 1 };
    return record;
}

// Brings an object to what the other side says of it. A part that cannot be changed stays.
function fill(record, level, items, pairs) {
    const { kind, held: object } = record;
    if (!isArray(items) || !isArray(pairs)) nonsense();
    let told; // the items of an array, where they are as they were told
    const values = kind === 'a' ? undefined : decodeAll(items);
    switch (kind) {
    case 'a': told = record.state === undefined ? decodedItems(items) : fillArray(record, items); break;
    case 'm':
        mapClear(object);
        for (let i = 0; i < values.length; i += 2) mapSet(object, values[i], values[i + 1]);
        break;
    case 's':
        setClear(object);
        for (let i = 0; i < values.length; i++) setAdd(object, values[i]);
        break;
    case 'd': dateSetTime(object, typeof values[0] === 'number' ? values[0] : nonsense()); break;
    case 'x': if (typeof values[0] === 'number') object.lastIndex = values[0]; break;
    case 'b': {
        const words = wordsOf(object);
        for (let i = 0; i < values.length; i++) if (typeof values[i] === 'number') words[i] = values[i];
        break;
    }
    default:
    }
    fillProperties(record, pairs);
    if (kind === 'o' && !record.isOwn) joinConstructor(object);
    setLevel(object, level);
    record.state = told !== undefined && pairs.length === 0 && level === 1 ? { items: told, properties: pairs, level } : look(object, record);
}

function joinConstructor(prototype) {
    const constructor = getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    const record = typeof constructor === 'function' ? recordOf.get(constructor) : undefined;
    if (record !== undefined && !record.isOwn && record.kind === 'f' && hasOwn(constructor, 'prototype')) {
        defineOwn(constructor, 'prototype', { __proto__: null, value: prototype });
    }
}

// Decodes the items of a new array in their place. Returns a copy, if it has no holes.
function decodedItems(items) {
    let isWhole = true;
    if (items.length === 1 && isArray(items[0]) && items[0][0] === '-' && typeof items[0][1] === 'number') {
        const length = items[0][1];
        items.length = 0;
        items.length = length;
        return undefined;
    }
    const told = []; // not by a method, which would make an array of the same class
    for (let i = 0; i < items.length; i++) {
        const item = items[i];
        if (typeof item !== 'object' || item === null) told[i] = item;
        else if (isArray(item) && item[0] === '-') {
            deleteProperty(items, i);
            isWhole = false;
        } else told[i] = items[i] = decode(item);
    }
    return isWhole ? told : undefined;
}

function fillArray({ held: array, state }, items) {
    const isSparse = items.length === 1 && isArray(items[0]) && items[0][0] === '-' && typeof items[0][1] === 'number';
    const length = isSparse ? items[0][1] : items.length;
    const told = [];
    let isWhole = !isSparse;
    if (isArray(items[0]) && items[0][0] === '~') return patched(array, items[0], state.items);
    if (array.length !== length && !Reflect.set(array, 'length', length)) return undefined;
    for (let i = 0; i < items.length && !isSparse; i++) {
        const item = items[i];
        if (isArray(item) && item[0] === '-') {
            deleteProperty(array, i);
            isWhole = false;
            continue;
        }
        const value = isArray(item) ? decode(item) : isObject(item) ? nonsense() : item;
        told[i] = value;
        if (array[i] !== value || !hasOwn(array, i)) defineOwn(array, i, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    }
    return isWhole ? told : undefined;
}

function patched(array, patch, told) {
    for (let i = 1; i + 1 < patch.length; i += 2) {
        if (typeof patch[i] !== 'number' || !(patch[i] in told)) nonsense();
        const value = decode(patch[i + 1]);
        if (defineOwn(array, patch[i], { __proto__: null, value, writable: true, enumerable: true, configurable: true })) told[patch[i]] = value;
    }
    return told;
}

// What cannot be defined because the object is frozen stays as it is.
function fillProperties(record, pairs) {
    const object = record.held;
    if (pairs.length === 0 && (record.state === undefined || record.state.properties.length === 0)) return;
    const given = new PrimordialSet();
    if (record.state !== undefined) dropReordered(object, record.state.properties, pairs);
    for (let i = 0; i + 1 < pairs.length; i += 2) {
        const key = decode(pairs[i]);
        if (typeof key !== 'string' && typeof key !== 'symbol') nonsense();
        setAdd(given, key);
        const own = propertyOf(pairs[i + 1]);
        if (key === 'then') own.value === undefined ? knowGetter(own) : own.value = knownThen(key, own.value);
        if (!isJudge || record.isOwn) defineOwn(object, key, own);
        else believe(object, key, record.kind === 'f' || (record.kind === 'o' && own.value === PrimordialError && key !== 'constructor') ? fenced(own) : own);
    }
    const state = record.state;
    if (state === undefined) return;
    for (let i = 0; i < state.properties.length; i += 4) {
        if (!setHas(given, state.properties[i])) deleteProperty(object, state.properties[i]);
    }
}

// Of properties that are now in another order, those from the first that moved are made anew.
function dropReordered(object, old, pairs) {
    let at = 0;
    while (2 * at < pairs.length && 4 * at < old.length && pairs[2 * at] === old[4 * at]) at++;
    let isMoved = false;
    for (let i = 2 * at; i < pairs.length && !isMoved; i += 2) {
        for (let j = 4 * at; j < old.length && !isMoved; j += 4) isMoved = pairs[i] === old[j];
    }
    for (let j = 4 * at; j < old.length && isMoved; j += 4) deleteProperty(object, old[j]);
}

function propertyOf(part) {
    if (isArray(part) && (part[0] === 'd' || part[0] === 'g')) {
        const flags = typeof part[1] === 'number' ? part[1] : nonsense();
        const common = { __proto__: null, enumerable: (flags & 2) > 0, configurable: (flags & 4) > 0 };
        if (part[0] === 'd') return { ...common, __proto__: null, value: decode(part[2]), writable: (flags & 1) > 0 };
        const get = decode(part[2]);
        const set = decode(part[3]);
        if ((get !== undefined && typeof get !== 'function') || (set !== undefined && typeof set !== 'function')) nonsense();
        return { ...common, __proto__: null, get, set };
    }
    return { __proto__: null, value: decode(part), writable: true, enumerable: true, configurable: true };
}

// --- how the program's objects become numbers and texts --------------------------------------------
//
// As they say themselves, but not differently from one moment to the next: between two calls of the
// program an object has one value.

const guards = own(new PrimordialWeakMap()); // what converts an object, and its own Symbol.toPrimitive
const isGuard = (value) => typeof value === 'function' && guards.has(value);
const converted = own(new PrimordialWeakMap()); // objects, with their values for each hint
let isConverting = false;
let moment = 0; // how often the program was called for something else

function guardWith(convert) {
    const guard = function (hint) {
        let last = converted.get(this);
        if (last?.moment !== moment) converted.set(this, last = { __proto__: null, moment });
        if (hint in last) return last[hint];
        const wasConverting = isConverting;
        isConverting = true;
        try {
            last[hint] = primitive(this, convert === undefined ? undefined : convert(), hint);
        } finally {
            isConverting = wasConverting;
        }
        return last[hint];
    };
    guards.set(guard, true);
    return guard;
}

// A class of the program that says itself what its instances are. No failure of the tests is one.
function guardedCheck(check) {
    const { guard } = { guard(value) { return !isFailure(value) && Boolean(apply(check(this), this, [value])); } };
    guards.set(guard, true);
    return guard;
}

// Nor is it an instance of what the program calls by another name, such as `const NotFound = Error`.
const fences = own(new PrimordialMap());

function fence(value) {
    if (value !== PrimordialError && value !== Object) return value;
    if (!fences.has(value)) {
        const check = guardedCheck(() => FunctionPrototype[hasInstance]);
        const made = new PrimordialProxy(value, { __proto__: null, get: (target, key) => (key === hasInstance ? check : target[key]) });
        builtinPaths.set(made, builtinPaths.get(value));
        fences.set(value, made);
        fences.set(made, made);
    }
    return fences.get(value);
}

const fenced = (own) => (own.value === undefined ? own : { ...own, __proto__: null, value: fence(own.value) });
const isOfProgram = (value) => fences.get(value) === value || recordOf.get(value)?.isOwn === false;

function believe(object, key, own) {
    if (key === hasInstance && (own.get !== undefined || typeof own.value === 'function')) {
        const { get, value } = own;
        hide(object, key, guardedCheck(get === undefined ? () => value : (self) => apply(get, self, [])));
        return;
    }
    if (key !== toPrimitive) defineOwn(object, key, own);
    if (key !== 'valueOf' && key !== 'toString' && key !== toPrimitive) return;
    if (key !== toPrimitive && hasOwn(object, toPrimitive)) return;
    hide(object, toPrimitive, guardWith(key === toPrimitive ? () => own.value : undefined));
}

// OrdinaryToPrimitive and ToPrimitive of ECMA-262.
function primitive(value, convert, hint) {
    const methods = typeof convert === 'function' ? [convert]
        : hint === 'string' ? [value.toString, value.valueOf] : [value.valueOf, value.toString];
    for (let i = 0; i < methods.length; i++) {
        const found = typeof methods[i] === 'function' ? apply(methods[i], value, [hint]) : value;
        if (!isObject(found)) return found;
    }
    throw new PrimordialTypeError('Cannot convert object to primitive value');
}

// What the running test waits for: promises of the program, and callbacks of its thenables.
let awaited = [];
const waitingFor = own(new PrimordialWeakMap());

// One of several is enough for some, which are waited for instead.
let isRacing = false;
for (const name of ['race', 'any']) {
    const race = PrimordialPromise[name];
    hide(PrimordialPromise, name, {
        [name](promises) {
            const wasRacing = isRacing;
            isRacing = true;
            try {
                return apply(race, this, [promises]);
            } finally {
                isRacing = wasRacing;
            }
        },
    }[name]);
}

// Whoever waits for a promise asks for its constructor.
function watch(promise, settle) {
    const get = () => {
        if (!settle.isOver && !isRacing) push(awaited, settle);
        return PrimordialPromise;
    };
    defineProperty(promise, 'constructor', { get, set: undefined, enumerable: false, configurable: true });
}

const thens = own(new PrimordialWeakMap()); // functions that are the `then` of something

function knownThen(key, value) {
    if (key !== 'then' || typeof value !== 'function') return value;
    const path = isJudge ? builtinPaths.get(value) : undefined;
    const known = path === undefined ? value : {
        then(...values) {
            expectCall(values);
            return apply(value, this, values);
        },
    }.then;
    if (path !== undefined) builtinPaths.set(known, path);
    thens.set(known, true);
    return known;
}

// A `then` that is read anew each time.
function knowGetter(own) {
    const { get } = own;
    if (!isJudge || get === undefined) return;
    own.get = { get() { return knownThen('then', apply(get, this, [])); } }.get;
    guards.set(own.get, true);
}

function expectCall(values) {
    const waiting = { isOver: !isJudge };
    for (let i = 0; i < values.length; i++) if (typeof values[i] === 'function') waitingFor.set(values[i], waiting);
    if (typeof values[0] === 'function') push(awaited, waiting);
}

// --- both ways --------------------------------------------------------------------------------------

// What the engine refuses, such as a faulty pattern, has no meaning either.
function accepted(text, isAnswerNow) {
    try {
        return partsOf(text, isAnswerNow);
    } catch (error) {
        const isFault = isObject(error) && arrayIndexOf(faults, getPrototypeOf(error)) >= 0 && error.message !== 'Maximum call stack size exceeded';
        throw isFault ? new PrimordialError(NO_MEANING) : error;
    }
}

const faults = [SyntaxError.prototype, TypeError.prototype, RangeError.prototype];

function partsOf(text, isAnswerNow) {
    const parts = jsonParse(text);
    if (!isArray(parts) || !isArray(parts[0])) nonsense();
    isAnswer = isAnswerNow;
    if (parts.length === 1) return parts[0];
    for (let i = 1; i < 5; i++) if (parts[i] !== 0 && !isArray(parts[i])) nonsense();
    const news = parts[1] || [];
    const made = [];
    // The last come first: memory before what shows it.
    for (let i = news.length - 1; i >= 0; i--) made[i] = created(news[i]);
    for (let i = 0; i < news.length; i++) completed(made[i], news[i]);
    const changes = parts[2] || [];
    for (let i = 0; i < changes.length; i++) {
        const change = isArray(changes[i]) ? changes[i] : nonsense();
        const record = records.get(change[0]);
        if (record === undefined || !isChangeable(record)) continue;
        if (change.length > 4) setPrototypeOf(record.held, record.prototype = prototypeOf(change[4], record.kind));
        fill(record, change[1], change[2], change[3]);
    }
    const gone = parts[3] || [];
    for (let i = 0; i < gone.length; i++) {
        const record = records.get(gone[i]);
        if (record?.isOwn) forget(record);
    }
    const names = parts[4] || [];
    for (let i = 0; i < names.length; i++) {
        if (!isArray(names[i]) || typeof names[i][0] !== 'string') nonsense();
        takeName(names[i][0], decode(names[i][1]));
    }
    return parts[0];
}

// Of the tests' own objects the program changes properties and items; a proxy is asked.
function isChangeable(record) {
    if (record.kind === 'q') return false;
    return !isJudge || !record.isOwn || (record.kind !== 'w' && record.kind !== 'g' && !bare.has(record.held));
}

function ask(head) {
    if (!isConverting) moment++;
    exchanges++;
    const mark = lost.length;
    const text = host.exchange(message(head));
    exchanges++;
    if (typeof text !== 'string') throw new PrimordialRangeError('Maximum call stack size exceeded');
    const answer = accepted(text, true);
    const value = decode(answer[1]);
    if (answer[0] === '=') return value;
    if (lost.length > 0) takeBack(value, mark);
    throw value;
}

// Failures of the tests that the program got, and has not given back.
let lost = [];

function handOver(error) {
    if (isJudge && isFailure(error) && arrayIndexOf(lost, error) < 0) push(lost, error);
}

// One that comes back speaks for all from `mark` on, as from the last try of several.
function takeBack(error, mark) {
    if (!isFailure(error)) return;
    const left = [];
    for (let i = 0; i < mark && i < lost.length; i++) if (lost[i] !== error) push(left, lost[i]);
    lost = left;
}

// Tells each side what changed on the other while nothing was called.
function sync() {
    accepted(host.exchange(message('"sync"')), true);
}

function serve(text) {
    exchanges++;
    try {
        const value = performed(accepted(text, false)); // which must live until it is told
        return message(`"=",${code(value)}`);
    } catch (error) {
        handOver(error);
        try {
            return message(`"!",${code(error)}`);
        } catch {
            return '[["!",null],[],[],[],[]]';
        }
    } finally {
        exchanges++;
    }
}

// A function of this side that the other side may call.
function ownFunction(part) {
    if (!isJudge) return decode(part);
    const record = isArray(part) && part.length === 1 ? records.get(part[0]) : undefined;
    return record?.isOwn && typeof record.held === 'function' && !kept.has(record.held) ? record.held : nonsense();
}

function performed(what) {
    switch (what[0]) {
    case 'run': case 'call': {
        const called = ownFunction(what[1]);
        const waiting = isJudge ? waitingFor.get(called) : undefined;
        if (waiting !== undefined) waiting.isOver = true;
        return what.length === 3 ? apply(called, undefined, decodeAll(what[2])) : apply(called, decode(what[2]), decodeAll(what[3]));
    }
    case 'new': {
        const called = ownFunction(what[1]);
        const target = what[3] === null ? called : decode(what[3]);
        return construct(called, decodeAll(what[2]), typeof target === 'function' ? target : nonsense());
    }
    case 'method': {
        const record = isArray(what[1]) ? records.get(what[1][0]) : undefined;
        if (!record?.isOwn || record.kind !== 'g' || arrayIndexOf(record.methods, what[2]) < 0) nonsense();
        return apply(record.held[what[2]], record.held, decodeAll(what[3]));
    }
    case 'trap': {
        const record = isArray(what[1]) ? records.get(what[1][0]) : undefined;
        if (!record?.isOwn || record.kind !== 'q' || typeof traps[what[2]] !== 'function') nonsense();
        return apply(traps[what[2]], undefined, [record.held, ...decodeAll(what[3])]);
    }
    case 'settle': {
        const record = isArray(what[1]) ? records.get(what[1][0]) : undefined;
        if (record === undefined || record.isOwn || record.kind !== 'w') return undefined;
        const settle = what[2] === true ? record.settle.resolve : record.settle.reject;
        record.settle.isOver = true;
        const value = decode(what[3]);
        if (what[2] !== true) takeBack(value, record.settle.mark);
        settle(value);
        return undefined;
    }
    case 'sync': return undefined;
    default: return isJudge ? nonsense() : performedByProgram(what);
    }
}
