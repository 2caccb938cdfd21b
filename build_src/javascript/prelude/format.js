// util.format: the placeholders of console.log's first argument.

const builtins = new PrimordialSet(getOwnPropertyNames(globalThis));

// Whether `value` prints itself through a toString of the language and not one of the program.
function hasBuiltinText(value) {
    if (typeof value[PrimordialSymbol.toPrimitive] === 'function') return isDate(value);
    if (typeof value.toString !== 'function') return true;
    if (hasOwn(value, 'toString')) return false;
    let object = value;
    do object = getPrototypeOf(object);
    while (object !== null && !hasOwn(object, 'toString'));
    const descriptor = object === null ? undefined : getOwnPropertyDescriptor(object, 'constructor');
    return descriptor !== undefined && typeof descriptor.value === 'function' &&
        setHas(builtins, descriptor.value.name);
}

function asString(value) {
    if (typeof value === 'number') return formatNumber(value);
    if (typeof value === 'bigint') return `${value}n`;
    if (typeof value !== 'object' || value === null) return toText(value);
    if (!hasBuiltinText(value) && boxed(value)?.[0] !== 'Symbol') return toText(value);
    return inspect(value, { depth: 0 });
}

function asJson(value) {
    try {
        return jsonStringify(value) ?? 'undefined';
    } catch (error) {
        if (includes(toText(error.message), 'circular')) return '[Circular]';
        throw error;
    }
}

const asNumber = (read) => (value) => {
    if (typeof value === 'bigint') return `${value}n`;
    return typeof value === 'symbol' ? 'NaN' : formatNumber(read(value));
};

const placeholders = {
    __proto__: null,
    s: asString,
    d: asNumber((value) => toNumber(value)),
    i: asNumber((value) => parseInteger(value)),
    f: (value) => (typeof value === 'symbol' ? 'NaN' : formatNumber(parseNumber(value))),
    j: asJson,
    o: (value) => inspect(value, { showHidden: true, showProxy: true, depth: 4 }),
    O: (value) => inspect(value),
    c: () => '',
};

function format(...values) {
    let text = '';
    let used = 0;
    if (typeof values[0] === 'string') {
        if (values.length === 1) return values[0];
        used = 1;
        text = filled(values[0], (letter) => {
            if (used >= values.length) return undefined;
            return placeholders[letter](values[used++]);
        });
    }
    for (let i = used; i < values.length; i++) {
        const shown = typeof values[i] === 'string' ? values[i] : inspect(values[i]);
        text += i === 0 ? shown : ` ${shown}`;
    }
    return text;
}

// `template` with each placeholder replaced by what `next` gives for its letter.
function filled(template, next) {
    let text = '';
    let from = 0;
    for (let i = 0; i < template.length - 1; i++) {
        if (charCodeAt(template, i) !== 37) continue;
        const letter = template[i + 1];
        let shown;
        if (letter === '%') shown = '%';
        else if (placeholders[letter] !== undefined) shown = next(letter);
        if (shown === undefined) continue;
        text += slice(template, from, i) + shown;
        from = i + 2;
        i++;
    }
    return text + slice(template, from);
}
