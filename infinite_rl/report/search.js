// Which rows are wanted: words over an index made once, in short slices, so that typing never waits.

const SLICE_MS = 10;
const pause = () => new Promise((resolve) => setTimeout(resolve, 0));

/** What a query asks: `word`, `"a phrase"`, `-without`, `column:word`; all must hold. */
function asked(query, columns) {
  const found = [];
  for (const match of query.toLowerCase().matchAll(/(-?)(?:([\w.]+):)?(?:"([^"]*)"?|(\S+))/g)) {
    const column = columns.findIndex((name) => name.toLowerCase() === match[2]);
    const text = match[3] ?? match[4];
    const known = match[2] === undefined || column >= 0;
    if (text) found.push({ not: match[1] === "-", column, text: known ? text : `${match[2]}:${text}` });
  }
  return found;
}

const lengthOf = (value) =>
  value === null ? 0 : isCut(value) ? value[1] : value.length - (value.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

/** Whether a row passes a filter: a value of a column, or a range of its numbers or lengths. */
function holds(value, filter) {
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
    this.index = []; // a row's text in lower case, made at the first search that reaches it
    this.turn = 0;
  }

  /** The numbers of the rows that are wanted, in order; null where another search has begun since. */
  async find(query, filters, sort) {
    const turn = ++this.turn, terms = asked(query, this.columns), found = [];
    let began = performance.now();
    for (let number = 0; number < this.rows.length; number++) {
      if (number % 64 === 0 && performance.now() - began > SLICE_MS) {
        await pause();
        if (turn !== this.turn) return null;
        began = performance.now();
      }
      if (this.fits(number, terms, filters)) found.push(number);
    }
    return this.sorted(found, sort);
  }

  fits(number, terms, filters) {
    const row = this.rows[number];
    return (
      filters.every((filter) => holds(row[this.columns.indexOf(filter.column)], filter)) &&
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

  sorted(found, { column, down }) {
    const place = this.columns.indexOf(column);
    if (place < 0) return found;
    const key = (number) => {
      const text = textOf(this.rows[number][place]);
      return text === "" ? NaN : Number(text);
    };
    const keyed = found.map((number) => [key(number), number]);
    keyed.sort(([one], [other]) => (isNaN(one) || isNaN(other) ? isNaN(one) - isNaN(other) : down ? other - one : one - other));
    return keyed.map(([, number]) => number);
  }

  /** Make the index ahead, while nothing else is to do. */
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
