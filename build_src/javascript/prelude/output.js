// What is printed, and console. Output is collected here and handed to the host in pieces.

const PIECE = 8192; // characters collected before the host is told
const pending = ['', '', '']; // by file descriptor; 0 stays empty
// A trap in the midst of an allocation loses what is collected. The first write is therefore handed
// over at once, and then what came together by the 4th, the 16th and so on.
let writes = 0;
let due = 1;

function flushOne(descriptor) {
    const text = pending[descriptor];
    if (text === '') return;
    pending[descriptor] = '';
    // Huge texts go in slices, so that the host can stop them before they are copied whole.
    for (let i = 0; i < text.length; i += 65536) host.write(descriptor, slice(text, i, i + 65536));
}

function flush() {
    flushOne(1);
    flushOne(2);
}

function write(descriptor, text) {
    pending[descriptor] += text;
    if (pending[descriptor].length >= PIECE) flushOne(descriptor);
    if (++writes === due) {
        due *= 4;
        flush();
    }
}

let failedAssertions = 0;
let firstFailure = '';

function makeConsole() {
    let indentation = '';
    const counts = new PrimordialMap();
    const timers = new PrimordialMap();
    const print = (descriptor, text) => {
        if (indentation !== '') text = indentation + join(split(text, '\n'), `\n${indentation}`);
        write(descriptor, `${text}\n`);
    };
    const out = (...values) => print(1, apply(format, undefined, values));
    const err = (...values) => print(2, apply(format, undefined, values));
    const label = (name) => (name === undefined ? 'default' : toText(name));
    const elapsed = (name) => `${label(name)}: ${(now() - (mapGet(timers, label(name)) ?? now())).toFixed(3)}ms`;
    const count = (name, value) => {
        mapSet(counts, label(name), value);
        return value;
    };
    const made = {
        log: (...values) => apply(out, undefined, values),
        warn: (...values) => apply(err, undefined, values),
        dir: (value, options) => print(1, inspect(value, options)),
        time: (name) => { mapSet(timers, label(name), now()); },
        timeEnd: (name) => out(elapsed(name)),
        timeLog: (name, ...values) => apply(out, undefined, [elapsed(name), ...values]),
        trace: (...values) => err(`Trace${values.length > 0 ? `: ${apply(format, undefined, values)}` : ''}`),
        assert: (condition, ...values) => {
            if (condition) return;
            failedAssertions++;
            const text = values.length > 0 ? apply(format, undefined, values) : lineOfTest();
            const shown = text === '' ? 'Assertion failed' : `Assertion failed: ${text}`;
            if (failedAssertions === 1) firstFailure = shown;
            if (!isJudge) err('%s', shown);
        },
        clear: () => {},
        count: (name) => out(`${label(name)}: ${count(name, (mapGet(counts, label(name)) ?? 0) + 1)}`),
        countReset: (name) => { count(name, 0); },
        group: (...values) => {
            if (values.length > 0) apply(out, undefined, values);
            indentation += '  ';
        },
        groupEnd: () => { indentation = slice(indentation, 2); },
        table: (value, columns) => (isObject(value) && typeof value !== 'function' ? out(table(value, columns)) : out(value)),
        debug: (...values) => apply(out, undefined, values),
        info: (...values) => apply(out, undefined, values),
        dirxml: (...values) => apply(out, undefined, values),
        error: (...values) => apply(err, undefined, values),
        groupCollapsed: (...values) => made.group(...values),
    };
    defineProperty(made, PrimordialSymbol.toStringTag, { value: 'console', configurable: true });
    return made;
}

// console.table: one row for each entry, one column for each key found in the rows.
function table(value, only) {
    const rows = []; // of [index, cells by column, the value of a row that is no object]
    const columns = only === undefined ? [] : arraySlice(only);
    let keyed = false;
    let plain = false;
    const cell = (item) => inspect(item, {
        depth: isObject(item) && !isArray(item) && !isTypedArray(item) && objectKeys(item).length > 2 ? -1 : 0,
        maxArrayLength: 3,
        breakLength: Infinity,
    });
    const add = (index, row) => {
        const cells = new PrimordialMap();
        if (!isObject(row)) {
            plain = true;
            push(rows, [index, cells, inspect(row)]);
            return;
        }
        const keys = objectKeys(row);
        for (let i = 0; i < keys.length; i++) {
            if (only === undefined && arrayIndexOf(columns, keys[i]) < 0) push(columns, keys[i]);
            mapSet(cells, keys[i], cell(row[keys[i]]));
        }
        push(rows, [index, cells]);
    };
    const addPair = (item, key) => push(rows, [toText(rows.length), new PrimordialMap(), cell(item), cell(key)]);
    const iterator = iteratorKind(value);
    if (isMap(value)) {
        keyed = plain = true;
        mapForEach(value, addPair);
    } else if (iterator !== '') {
        const items = itemsLeft(value, iterator);
        keyed = iterator === 'Map Iterator' && arePairs(items);
        plain = true;
        for (let i = 0; i < items.length; i++) {
            if (keyed) addPair(items[i][1], items[i][0]);
            else push(rows, [toText(i), new PrimordialMap(), cell(items[i])]);
        }
    } else if (isSet(value)) {
        setForEach(value, (item) => add(toText(rows.length), item));
    } else {
        const keys = objectKeys(value);
        for (let i = 0; i < keys.length; i++) add(keys[i], value[keys[i]]);
    }
    const heads = [isMap(value) || isSet(value) || iterator !== '' ? '(iteration index)' : '(index)'];
    if (keyed) push(heads, 'Key');
    for (let i = 0; i < columns.length; i++) push(heads, columns[i]);
    if (plain) push(heads, 'Values');
    const lines = [];
    for (let i = 0; i < rows.length; i++) {
        const line = [rows[i][0]];
        if (keyed) push(line, rows[i][3]);
        for (let j = 0; j < columns.length; j++) push(line, mapGet(rows[i][1], columns[j]) ?? '');
        if (plain) push(line, rows[i][2] ?? '');
        push(lines, line);
    }
    return drawn(heads, lines);
}

function drawn(heads, lines) {
    const widths = [];
    for (let i = 0; i < heads.length; i++) {
        let width = displayWidth(heads[i]);
        for (let j = 0; j < lines.length; j++) width = max(width, displayWidth(lines[j][i]));
        push(widths, width + 2);
    }
    const row = (cells) => {
        const shown = [];
        for (let i = 0; i < cells.length; i++) {
            push(shown, ` ${cells[i]}${repeat(' ', widths[i] - displayWidth(cells[i]) - 1)}`);
        }
        return `│${join(shown, '│')}│\n`;
    };
    const rule = (left, middle, right) => {
        const dashes = [];
        for (let i = 0; i < widths.length; i++) push(dashes, repeat('─', widths[i]));
        return left + join(dashes, middle) + right;
    };
    let text = `${rule('┌', '┬', '┐')}\n${row(heads)}${rule('├', '┼', '┤')}\n`;
    for (let i = 0; i < lines.length; i++) text += row(lines[i]);
    return text + rule('└', '┴', '┘');
}
