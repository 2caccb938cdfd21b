// Intl and the `toLocale` methods, in English (the United States unless the locale says otherwise) and,
// for numbers and plain dates, in a few more. Times are in UTC; no other time zone is known here.

const separators = { __proto__: null, de: ['.', ','], es: ['.', ','], it: ['.', ','], pt: ['.', ','], nl: ['.', ','], id: ['.', ','],
    fr: ['\u202f', ','], ru: ['\u00a0', ','], sv: ['\u00a0', ','] };
const currencySigns = { __proto__: null, USD: '$', EUR: '€', GBP: '£', JPY: '¥', INR: '₹', CNY: 'CN¥', KRW: '₩', BRL: 'R$', CAD: 'CA$',
    AUD: 'A$', MXN: 'MX$', NZD: 'NZ$', ILS: '₪', VND: '₫', TWD: 'NT$', HKD: 'HK$', PHP: '₱' };
const wholeCurrencies = ['JPY', 'KRW', 'VND', 'CLP', 'ISK'];
const unitNames = { __proto__: null, kilometer: 'km', meter: 'm', centimeter: 'cm', kilogram: 'kg', gram: 'g', celsius: '°C', liter: 'L',
    kilobyte: 'kB', megabyte: 'MB', gigabyte: 'GB', byte: 'byte', percent: '%', 'kilometer-per-hour': 'km/h', mile: 'mi', hour: 'hr', minute: 'min', second: 'sec' };

function localeNamed(locales) {
    const name = isArray(locales) ? locales[0] : locales;
    if (name === undefined) return 'en-US';
    if (!/^[a-z]{2,3}([-_][a-z0-9]+)*$/i.test(name)) throw new PrimordialRangeError(`Incorrect locale information provided`);
    return toText(name);
}

// The digits of a number and where its point stands, from the shortest text that means it.
function decimalDigits(value) {
    if (typeof value === 'bigint') return { digits: value.toString(), point: value.toString().length };
    if (value === 0) return { digits: '', point: 0 };
    const [mantissa, exponent] = value.toExponential().split('e');
    return { digits: mantissa.replace('.', ''), point: +exponent + 1 };
}

// Rounded half away from zero, so that `kept` digits are left before and after the point.
function roundedDigits({ digits, point }, kept) {
    if (digits.length <= kept) return { digits, point };
    if (kept < 0) return { digits: '', point: 0 };
    const isUp = digits[kept] >= '5';
    let head = digits.slice(0, kept);
    if (isUp) {
        const raised = (BigInt(head || '0') + 1n).toString();
        if (raised.length > head.length) point++;
        head = raised;
    }
    return { digits: head.replace(/0+$/, ''), point };
}

function withCommas(whole, separator, isIndian, least) {
    if (whole.length < 3 + least) return whole;
    return isIndian ? whole.replace(/\B(?=(\d{2})*\d{3}$)/g, separator) : whole.replace(/\B(?=(\d{3})+$)/g, separator);
}

class NumberFormat {
    #locale;

    #options;

    constructor(locales, options = {}) {
        this.#locale = localeNamed(locales);
        const { style = 'decimal', currency, notation = 'standard', minimumFractionDigits: least, maximumFractionDigits: most } = options;
        if (style === 'currency' && currency === undefined) throw new PrimordialTypeError('Currency code is required with currency style.');
        for (const [name, value] of [['minimumFractionDigits', least], ['maximumFractionDigits', most]]) {
            if (value !== undefined && !(value >= 0 && value <= 100)) throw new PrimordialRangeError(`${name} value is out of range.`);
        }
        const usual = style === 'currency' ? (wholeCurrencies.includes(currency) ? 0 : 2) : 0;
        const maximumFractionDigits = most ?? max(least ?? usual, style === 'decimal' || style === 'unit' ? 3 : usual);
        const minimumFractionDigits = least ?? min(usual, maximumFractionDigits);
        if (minimumFractionDigits > maximumFractionDigits) throw new PrimordialRangeError('maximumFractionDigits value is out of range.');
        this.#options = { ...options, style, currency: currency?.toUpperCase(), notation, minimumFractionDigits, maximumFractionDigits };
        hide(this, 'format', (value) => this.#text(value));
    }

    static supportedLocalesOf(locales) { return isArray(locales) ? locales : [locales]; }

    resolvedOptions() {
        const { style, notation, minimumFractionDigits, maximumFractionDigits, currency } = this.#options;
        return { locale: this.#locale, numberingSystem: 'latn', style, ...(currency && { currency }), minimumIntegerDigits: 1,
            minimumFractionDigits, maximumFractionDigits, useGrouping: 'auto', notation, signDisplay: 'auto' };
    }

    formatToParts(value) { return [{ type: 'literal', value: this.format(value) }]; }

    #text(value) {
        if (typeof value !== 'bigint') value = toNumber(value);
        const { style, currency, currencyDisplay = 'symbol', unit, signDisplay = 'auto', unitDisplay = 'short' } = this.#options;
        const isNegative = value < 0 || sameValue(value, -0);
        const size = this.#size(isNegative ? -value : value);
        const isZero = !/[1-9∞]/.test(size);
        const sign = value !== value || signDisplay === 'never' ? '' : isNegative && !(signDisplay === 'exceptZero' && isZero) ? '-'
            : signDisplay === 'always' || (signDisplay === 'exceptZero' && !isZero) ? '+' : '';
        const isEnglish = separators[slice(this.#locale, 0, 2)] === undefined;
        if (style === 'percent') return `${sign}${size}${isEnglish ? '' : '\u00a0'}%`;
        if (style === 'unit') {
            if (unitDisplay === 'long') return `${sign}${size} ${unit}${size === '1' ? '' : 's'}`;
            return `${sign}${size}${unit === 'celsius' || unit === 'percent' ? '' : ' '}${unitNames[unit] ?? unit}`;
        }
        if (style !== 'currency') return sign + size;
        const known = currencySigns[currency];
        const symbol = currencyDisplay === 'code' || known === undefined ? `${currency}\u00a0` : currencyDisplay === 'narrowSymbol' ? known.replace(/^[A-Z]+/, '') : known;
        return isEnglish ? `${sign}${symbol}${size}` : `${sign}${size}\u00a0${symbol.replace('\u00a0', '')}`;
    }

    #size(value) {
        if (value !== value) return 'NaN';
        if (value === Infinity) return '∞';
        const { style, notation, compactDisplay = 'short', useGrouping = true, minimumIntegerDigits = 1 } = this.#options;
        let number = decimalDigits(value);
        if (style === 'percent') number.point += 2;
        let suffix = '';
        let [least, most] = [this.#options.minimumFractionDigits, this.#options.maximumFractionDigits];
        if (notation === 'compact') {
            let step = min(4, max(0, floor((number.point - 1) / 3)));
            const scaled = roundedDigits(number, max(2, number.point - 3 * step));
            if (scaled.point - 3 * step > 3 && step < 4) step++;
            number.point -= 3 * step;
            suffix = (compactDisplay === 'long' ? ['', ' thousand', ' million', ' billion', ' trillion'] : ['', 'K', 'M', 'B', 'T'])[step];
            if (number.point > 1) most = 0;
            else most = 1;
            least = 0;
        }
        const { minimumSignificantDigits: fewest, maximumSignificantDigits: significant = fewest && 21 } = this.#options;
        number = roundedDigits(number, significant ?? number.point + most);
        if (number.digits === '') number.point = 0;
        if (significant !== undefined) least = max(0, (fewest ?? 1) - number.point);
        const { digits, point } = number;
        const whole = point <= 0 ? '' : digits.slice(0, point).padEnd(point, '0');
        const part = (point < 0 && digits !== '' ? '0'.repeat(-point) : '') + digits.slice(max(0, point));
        const [comma, dot] = separators[slice(this.#locale, 0, 2)] ?? [',', '.'];
        const isIndian = endsWith(this.#locale, '-IN');
        const smallest = slice(this.#locale, 0, 2) === 'es' || notation === 'compact' ? 2 : 1; // digits before the first comma
        const shown = useGrouping === false ? whole.padStart(minimumIntegerDigits, '0')
            : withCommas(whole.padStart(minimumIntegerDigits, '0'), comma, isIndian, smallest);
        const fraction = part.padEnd(least, '0');
        return shown + (fraction === '' ? '' : dot + fraction) + suffix;
    }
}

const monthNames = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const dateStyles = {
    __proto__: null,
    full: { weekday: 'long', month: 'long', day: 'numeric', year: 'numeric' },
    long: { month: 'long', day: 'numeric', year: 'numeric' },
    medium: { month: 'short', day: 'numeric', year: 'numeric' },
    short: { month: 'numeric', day: 'numeric', year: '2-digit' },
};
const timeStyles = {
    __proto__: null,
    full: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'long' },
    long: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
    medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' },
    short: { hour: 'numeric', minute: '2-digit' },
};
const utcNames = ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT'];

// `usual` is what is shown where the options name nothing: 'date', 'time' or 'any' (both).
function dateOptions(options = {}, usual = 'date') {
    const { timeZone = 'UTC', dateStyle, timeStyle } = options;
    if (!utcNames.includes(timeZone) && !utcNames.includes(toUpperCase(timeZone))) {
        throw new PrimordialRangeError(`Invalid time zone specified: ${timeZone}`);
    }
    if (dateStyle ?? timeStyle) return { ...dateStyles[dateStyle], ...timeStyles[timeStyle], hour12: options.hour12, hourCycle: options.hourCycle, dateStyle };
    const dates = ['weekday', 'year', 'month', 'day'];
    const times = ['hour', 'minute', 'second', 'fractionalSecondDigits', 'dayPeriod'];
    const asked = (names) => names.some((name) => options[name] !== undefined);
    const made = { ...options };
    if (!asked(usual === 'date' ? dates : usual === 'time' ? times : [...dates, ...times])) {
        if (usual !== 'time') Object.assign(made, { year: 'numeric', month: 'numeric', day: 'numeric' });
        if (usual !== 'date') Object.assign(made, { hour: 'numeric', minute: '2-digit', second: '2-digit' });
    }
    return made;
}

const twoDigits = (value) => padStart(toText(value), 2, '0');
const inStyle = (value, style) => (style === '2-digit' ? twoDigits(value % 100) : toText(value));
const namedIn = (names, index, style) => (style === 'long' ? names[index] : slice(names[index], 0, style === 'narrow' ? 1 : 3));

function dateTextIn(locale, date, options) {
    const [day, month, year] = [options.day && inStyle(date.getUTCDate(), options.day), options.month, options.year && inStyle(date.getUTCFullYear(), options.year)];
    const weekday = options.weekday && namedIn(dayNames, date.getUTCDay(), options.weekday);
    if (month === undefined || month === 'numeric' || month === '2-digit') {
        const number = month && inStyle(date.getUTCMonth() + 1, month);
        return joined(', ', weekday, numericDate(locale, day, number, year, options));
    }
    const name = namedIn(monthNames, date.getUTCMonth(), month);
    if (/^en-(GB|AU|NZ|IE|IN|ZA)/.test(locale)) {
        return joined(weekday && options.weekday === 'long' && day ? ' ' : ', ', weekday, joined(' ', day, name, year));
    }
    return joined(', ', weekday, day ? joined(', ', joined(' ', name, day), year) : joined(' ', name, year));
}

function numericDate(locale, day, month, year, options) {
    const language = slice(locale, 0, 2);
    if (/^(en-CA|sv)/.test(locale)) return joined('-', year, month && twoDigits(month), day && twoDigits(day));
    if (/^(ja|zh)/.test(locale)) return joined('/', year, month, day);
    if (/^(de|ru|tr|fi|no|nb|cs|pl)/.test(locale)) return joined('.', day, month, year);
    const isTwo = /^en-(GB|AU|NZ|IE)|^(fr|pt|it)/.test(locale) && !(language === 'it') && options.day === 'numeric' && options.month === 'numeric' && year;
    if (isTwo) return joined('/', twoDigits(day), twoDigits(month), year);
    if (language === 'en' && !/^en-(GB|AU|NZ|IE|IN|ZA)/.test(locale)) return joined('/', month, day, year);
    return joined('/', day, month, year);
}

const joined = (separator, ...parts) => parts.filter((part) => part !== undefined && part !== '').join(separator);

function timeTextIn(locale, date, options) {
    if (options.hour === undefined && options.minute === undefined && options.second === undefined) return '';
    const isTwelve = options.hour12 ?? (options.hourCycle === undefined ? /^en(?!-(GB|IE))|^hi/.test(locale) : /^h1[12]$/.test(options.hourCycle));
    const hours = date.getUTCHours();
    const is24 = options.hourCycle === 'h24' || (options.hour12 === false && /^en-US/.test(locale)); // midnight is 24 there
    const shown = isTwelve ? hours % 12 || 12 : is24 ? hours || 24 : hours;
    const hour = options.hour && (options.hour === '2-digit' || !isTwelve ? twoDigits(shown) : toText(shown));
    const minute = options.minute && (hour || options.second ? twoDigits(date.getUTCMinutes()) : toText(date.getUTCMinutes()));
    let second = options.second && (minute ? twoDigits(date.getUTCSeconds()) : toText(date.getUTCSeconds()));
    if (options.fractionalSecondDigits) second += `.${slice(padStart(toText(date.getUTCMilliseconds()), 3, '0'), 0, options.fractionalSecondDigits)}`;
    const half = hour && isTwelve ? ` ${/^en-(GB|AU|NZ|IE|IN)/.test(locale) ? (hours < 12 ? 'am' : 'pm') : hours < 12 ? 'AM' : 'PM'}` : '';
    const zone = options.timeZoneName ? (options.timeZoneName === 'long' ? ' Coordinated Universal Time' : ' UTC') : '';
    return joined(':', hour, minute, second) + half + zone;
}

function textOfDate(date, locales, options, usual) {
    if (dateTime(date) !== dateTime(date)) return 'Invalid Date';
    const locale = localeNamed(locales);
    const made = dateOptions(options, usual);
    const isLong = made.dateStyle === 'full' || made.dateStyle === 'long';
    return joined(isLong ? ' at ' : ', ', dateTextIn(locale, date, made), timeTextIn(locale, date, made));
}

class DateTimeFormat {
    #locales;

    #options;

    constructor(locales, options) {
        this.#locales = localeNamed(locales);
        this.#options = dateOptions(options);
        hide(this, 'format', (date) => {
            const shown = date === undefined ? new Date() : new Date(date);
            if (dateTime(shown) !== dateTime(shown)) throw new PrimordialRangeError('Invalid time value');
            return textOfDate(shown, this.#locales, this.#options);
        });
    }

    static supportedLocalesOf(locales) { return NumberFormat.supportedLocalesOf(locales); }

    formatToParts(date = new Date()) {
        const parts = [];
        const names = ['weekday', 'month', 'day', 'year', 'hour', 'minute', 'second'];
        for (const word of textOfDate(new Date(date), this.#locales, this.#options).matchAll(/[A-Za-z]+|\d+|[^A-Za-z\d]+/g)) {
            const isLiteral = /^[^A-Za-z\d]/.test(word[0]);
            const type = isLiteral ? 'literal' : /^[AP]M$/i.test(word[0]) ? 'dayPeriod' : names.find((name) => this.#options[name] && !parts.some((part) => part.type === name));
            parts.push({ type: type ?? 'literal', value: word[0] });
        }
        return parts;
    }

    resolvedOptions() {
        const { year, month, day } = this.#options;
        return { locale: this.#locales, calendar: 'gregory', numberingSystem: 'latn', timeZone: 'UTC', year, month, day };
    }
}

// The order of the Unicode root collation for what is below U+0250; the rest is by code point.
const markOrder = '_-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$';
const weights = { __proto__: null };
for (let i = 0; i < markOrder.length; i++) weights[markOrder[i]] = 16 + i;
for (let i = 0; i < 10; i++) weights[toText(i)] = 100 + i;
for (let i = 0; i < 26; i++) weights[fromCharCode(97 + i)] = 200 + i;
weights.ß = weights.s;
weights['\n'] = 1;
weights['\t'] = 0;
weights[' '] = 15;

function collationKeys(text, isNumeric) {
    const keys = [];
    for (const part of text.normalize('NFD').match(isNumeric ? /\d+|[^]/gu : /[^]/gu) ?? []) {
        if (/^\p{M}$/u.test(part)) {
            if (keys.length > 0) keys.at(-1)[1] += part;
        } else if (isNumeric && /^\d/.test(part)) {
            keys.push([100 + Number(part) / 1e9, '', 0]);
        } else {
            const lower = toLowerCase(part);
            keys.push([weights[lower] ?? 1000 + lower.codePointAt(0), '', lower === part ? 0 : 1]);
        }
    }
    return keys;
}

const ordered = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

const asciiWeights = [];
for (let i = 0; i < 128; i++) push(asciiWeights, weights[toLowerCase(fromCharCode(i))] ?? i);

// Two texts of ASCII; undefined for others.
function collatedAscii(a, b) {
    const size = min(a.length, b.length);
    let tie = a.length - b.length;
    let byCase = 0;
    for (let i = 0; i < size; i++) {
        const [left, right] = [charCodeAt(a, i), charCodeAt(b, i)];
        if (left > 127 || right > 127) return undefined;
        if (left === right) continue;
        const order = asciiWeights[left] - asciiWeights[right];
        if (order !== 0) return hasOnlyAscii(a, i) && hasOnlyAscii(b, i) ? (order < 0 ? -1 : 1) : undefined;
        if (byCase === 0) byCase = left > right ? -1 : 1; // lower case has the higher code
    }
    if (charCodeAt(a, size) > 127 || charCodeAt(b, size) > 127) return undefined;
    if (tie === 0) tie = byCase;
    return tie < 0 ? -1 : tie > 0 ? 1 : 0;
}

// A mark that follows a letter could still change it.
const hasOnlyAscii = (text, from) => !(charCodeAt(text, from + 1) > 127);

// Letters decide first, then accents, then case with the lower one first.
function collated(a, b, options) {
    if (a === b) return 0;
    const simple = options === undefined ? collatedAscii(a, b) : undefined;
    return simple ?? collatedFully(a, b, options);
}

function collatedFully(a, b, { numeric = false, sensitivity = 'variant', caseFirst = 'false' } = {}) {
    const [left, right] = [collationKeys(a, numeric), collationKeys(b, numeric)];
    const levels = { base: [0], accent: [0, 1], case: [0, 2], variant: [0, 1, 2] }[sensitivity];
    for (const level of levels) {
        for (let i = 0; i < min(left.length, right.length); i++) {
            const order = ordered(left[i][level], right[i][level]);
            if (order !== 0) return level === 2 && caseFirst === 'upper' ? -order : order;
        }
        if (left.length !== right.length) return left.length < right.length ? -1 : 1;
    }
    return 0;
}

class Collator {
    constructor(locales, options) {
        localeNamed(locales);
        hide(this, 'compare', (a, b) => collated(toText(a), toText(b), options));
    }

    resolvedOptions() { return { locale: 'en-US', usage: 'sort', sensitivity: 'variant', ignorePunctuation: false, collation: 'default', numeric: false, caseFirst: 'false' }; }
}

class PluralRules {
    #isOrdinal;

    constructor(locales, { type } = {}) {
        localeNamed(locales);
        this.#isOrdinal = type === 'ordinal';
    }

    select(value) {
        if (!this.#isOrdinal) return value === 1 ? 'one' : 'other';
        const isTeen = value % 100 > 10 && value % 100 < 14;
        return (isTeen ? undefined : { 1: 'one', 2: 'two', 3: 'few' }[value % 10]) ?? 'other';
    }
}

class ListFormat {
    #options;

    constructor(locales, options = {}) {
        localeNamed(locales);
        this.#options = options;
    }

    format(list) {
        const { type = 'conjunction', style = 'long' } = this.#options;
        const word = type === 'unit' ? '' : type === 'disjunction' ? 'or' : style === 'long' ? 'and' : '&';
        const all = [...list];
        if (all.length < 2) return all.join('');
        const isPair = all.length === 2 && word !== '';
        const last = all.pop();
        return `${all.join(', ')}${isPair ? '' : ','} ${word === '' ? '' : `${word} `}${last}`;
    }
}

class RelativeTimeFormat {
    #isWordy;

    constructor(locales, { numeric } = {}) {
        localeNamed(locales);
        this.#isWordy = numeric === 'auto';
    }

    format(value, unit) {
        const name = unit.replace(/s$/, '');
        const words = { day: ['yesterday', 'today', 'tomorrow'] }[name] ?? [`last ${name}`, `this ${name}`, `next ${name}`];
        if (this.#isWordy && name === 'second' && value === 0) return 'now';
        if (this.#isWordy && [-1, 0, 1].includes(value) && !(['second', 'minute', 'hour'].includes(name) && value !== 0)) return words[value + 1];
        const size = new NumberFormat('en').format(abs(value));
        const text = `${size} ${name}${size === '1' ? '' : 's'}`;
        return value < 0 || sameValue(value, -0) ? `${text} ago` : `in ${text}`;
    }
}

// Letters with their marks, joined emoji and flags; or words.
const graphemes = /\r\n|\p{RI}{2}|.[\p{M}\u200d\ufe0f\u{1f3fb}-\u{1f3ff}]*(?:(?<=\u200d)\p{Extended_Pictographic}[\p{M}\ufe0f\u200d\u{1f3fb}-\u{1f3ff}]*)*/gsu;
const words = /[\p{L}\p{M}\p{N}_]+(?:['.’][\p{L}\p{N}]+)*|\s|[^]/gu;
const sentences = /[^.!?]+[.!?]*\s*|[.!?]+\s*/gu;

class Segmenter {
    #granularity;

    constructor(locales, { granularity = 'grapheme' } = {}) {
        localeNamed(locales);
        this.#granularity = granularity;
    }

    * segment(input) {
        const pattern = { grapheme: graphemes, word: words, sentence: sentences }[this.#granularity];
        for (const found of input.matchAll(pattern)) {
            const part = { segment: found[0], index: found.index, input };
            if (this.#granularity === 'word') part.isWordLike = /[\p{L}\p{N}]/u.test(found[0]);
            yield part;
        }
    }
}

// Callable without `new`, as these three are.
const callable = (made) => new Proxy(made, { apply: (target, self, values) => new target(...values) });

const Intl = { getCanonicalLocales: (locales) => (locales === undefined ? [] : isArray(locales) ? locales : [locales]) };
const intlParts = { NumberFormat: callable(NumberFormat), DateTimeFormat: callable(DateTimeFormat), Collator: callable(Collator),
    PluralRules, ListFormat, RelativeTimeFormat, Segmenter };
for (const name of objectKeys(intlParts)) hide(Intl, name, intlParts[name]);
defineProperty(Intl, PrimordialSymbol.toStringTag, { value: 'Intl', configurable: true });

return { Intl, NumberFormat, textOfDate, collated };
