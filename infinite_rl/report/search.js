// Search: terms over an index that is built once, in short slices, so that typing never blocks.

const SLICE_MS = 10;
const pause = () => new Promise((resolve) => setTimeout(resolve, 0));

/** The terms of a query: `word`, `"a phrase"`, `-without`, `column:word`; all must match. */
function queryTerms(query, columns) {
  const terms = [];
  for (const match of query.toLowerCase().matchAll(/(-?)(?:([\w.]+):)?(?:"([^"]*)"?|(\S+))/g)) {
    const column = columns.findIndex((name) => name.toLowerCase() === match[2]);
    const text = match[3] ?? match[4];
    const valid = match[2] === undefined || column >= 0;
    if (text) terms.push({ not: match[1] === "-", column, text: valid ? text : `${match[2]}:${text}` });
  }
  return terms;
}

const lengthOf = (value) =>
  value === null ? 0 : isCut(value) ? value[1] : value.length - (value.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

/** Whether a row passes a filter: a value of a column, or a range of its numbers or lengths. */
function passesFilter(value, filter) {
  if (filter.value !== undefined) return textOf(value) === filter.value || isLong(value, filter.value);
  const length = filter.of === "length";
  if (length ? typeof value !== "string" && !isCut(value) : textOf(value) === "") return false;
  const number = length ? lengthOf(value) : Number(textOf(value));
  return number >= filter.low && (filter.last ? number <= filter.high : number < filter.high);
}
const isLong = (value, text) => typeof value === "boolean" && (value ? "True" : "False") === text;

class Search {
  constructor(rows, columns) {
    this.rows = rows;
    this.columns = columns;
    this.index = []; // a row's text in lower case, cached by the first search that reaches it
    this.searches = 0;
  }

  /** The numbers of the matching rows, in order; null if another search has begun. */
  async find(query, filters, sort) {
    const current = ++this.searches, terms = queryTerms(query, this.columns), matches = [];
    let began = performance.now();
    for (let number = 0; number < this.rows.length; number++) {
      if (number % 64 === 0 && performance.now() - began > SLICE_MS) {
        await pause();
        if (current !== this.searches) return null;
        began = performance.now();
      }
      if (this.matches(number, terms, filters)) matches.push(number);
    }
    return this.sorted(matches, sort);
  }

  matches(number, terms, filters) {
    const row = this.rows[number];
    return (
      filters.every((filter) => passesFilter(row[this.columns.indexOf(filter.column)], filter)) &&
      terms.every(({ not, column, text }) => {
        const where = column >= 0 ? textOf(row[column]).toLowerCase() : this.text(number);
        return where.includes(text) !== not;
      })
    );
  }

  text(number) {
    this.index[number] ??= this.rows[number].map(textOf).join("\n").toLowerCase();
    return this.index[number];
  }

  sorted(numbers, { column, down }) {
    const index = this.columns.indexOf(column);
    if (index < 0) return numbers;
    const key = (number) => {
      const text = textOf(this.rows[number][index]);
      return text === "" ? NaN : Number(text);
    };
    const keyed = numbers.map((number) => [key(number), number]);
    keyed.sort(([one], [other]) => (isNaN(one) || isNaN(other) ? isNaN(one) - isNaN(other) : down ? other - one : one - other));
    return keyed.map(([, number]) => number);
  }

  /** Build the index ahead, while the page is idle. */
  async prepare() {
    let began = performance.now();
    for (let number = 0; number < this.rows.length; number++) {
      this.text(number);
      if (performance.now() - began > SLICE_MS) {
        await pause();
        began = performance.now();
      }
    }
  }
}
