// The page: a list of rows that the server searches, the row chosen, its marks, and the address of all this.

const PAGE = 50, DEBOUNCE_MS = 150, POLL_MS = 1000;
const BESIDE = { "@finding": "finding", "@tag": "tag", "@compared": "compared", "@selected": "selected", "@noted": "with a note" };
const COMPARED = ["changed", "only here", "only there", "same"];
const content = { certificate: [] };
const families = { section: (id) => relatives(id) };
const state = { q: "", values: {}, sort: "", down: false, at: 0, total: 0, start: 0, rows: [], plain: false, shown: null, version: -1, status: null };
let searches = 0, openings = 0, saved = Promise.resolve(); // the marks so far

// --- the server ----------------------------------------------------------------------------------

async function call(path, options) {
  const answer = await fetch(path, options);
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error ?? answer.statusText);
  return value;
}

/** Ask for what shows marks: after those before are saved, and again if one is made in the meantime. */
async function withMarks(path) {
  for (;;) {
    const before = saved;
    await before;
    const answer = await call(path);
    if (before === saved) return answer;
  }
}

const parameters = (more = {}) =>
  new URLSearchParams({ q: state.q, values: JSON.stringify(state.values), sort: state.sort, down: state.down ? "1" : "0", ...more });

function failed(error) {
  $("faults").hidden = false;
  $("faults").textContent = error instanceof TypeError ? "The viewer does not answer: was it stopped?" : error.message;
}

async function poll() {
  try {
    const status = await call("status");
    const changed = status.version !== state.version;
    state.status = status;
    state.version = status.version;
    content.certificate = status.certificate;
    header(status);
    if (changed) {
      tools(status);
      if (!writing()) await refresh({ quiet: true });
    }
  } catch (error) {
    failed(error);
  }
  setTimeout(poll, document.hidden ? 5 * POLL_MS : POLL_MS);
}

function header({ title, against, rows, task, faults }) {
  const name = against ? `${title} compared with ${against}` : title;
  $("title").replaceChildren();
  write($("title"), name);
  document.title = withCodes(name);
  $("state").textContent = `${brief(rows)} rows${task ? `, ${task} …` : ""}`;
  $("faults").hidden = !faults.length;
  $("faults").replaceChildren();
  write($("faults"), faults.join(" "));
}

// --- filters -------------------------------------------------------------------------------------

/** The select of each filter; those with the focus are left alone. */
function tools({ facets, columns, selected, noted, against }) {
  const all = [...facets];
  if (against) all.unshift(["@compared", COMPARED.map((name) => [name, null])]);
  if (selected) all.push(["@selected", [["yes", selected]]]);
  if (noted) all.push(["@noted", [["yes", noted]]]);
  for (const name of Object.keys(state.values)) if (!all.some(([other]) => other === name)) all.push([name, []]);
  const kept = new Map([...$("facets").querySelectorAll("select")].map((select) => [select.name, select]));
  const labels = all.map(([name, kinds]) => {
    const old = kept.get(name);
    if (old && old === document.activeElement) return old.parentElement;
    return facet(name, kinds);
  });
  $("facets").replaceChildren(...labels);
  if ($("sort") === document.activeElement) return;
  const names = columns.filter(([, numeric]) => numeric).map(([name]) => name);
  const chosen = state.sort ? (state.down ? "↓" : "↑") + state.sort : "";
  $("sort").replaceChildren(new Option("as in the file", ""));
  for (const name of new Set([...names, ...(state.sort ? [state.sort] : [])])) {
    for (const sign of ["↓", "↑"]) $("sort").append(new Option(`${withCodes(excerpt(name, 30))} ${sign}`, sign + name));
  }
  $("sort").value = chosen;
}

function facet(name, kinds) {
  const select = make("select"), value = state.values[name];
  select.name = name;
  select.append(new Option("all", ""));
  const shown = value !== undefined && !kinds.some(([kind]) => kind === value) ? [...kinds, [value, null]] : kinds;
  for (const [kind, count] of shown) {
    const option = make("option", "", withCodes(excerpt(kind, 30)) + (count === null ? "" : ` (${brief(count)})`));
    option.value = kind;
    select.append(option);
  }
  select.value = value ?? "";
  select.addEventListener("change", () => {
    if (select.value) state.values[name] = select.value;
    else delete state.values[name];
    refresh({ first: true });
  });
  return make("label", "", `${BESIDE[name] ?? withCodes(excerpt(name, 30))} `, select);
}

function clear() {
  Object.assign(state, { q: "", values: {} });
  $("search").value = "";
  if (state.status) tools(state.status);
}

// --- the list ------------------------------------------------------------------------------------

/** Ask for the page around `state.at`; `first` begins at the first row, `quiet` leaves the row that is open. */
async function refresh({ first = false, quiet = false } = {}) {
  const current = ++searches;
  if (first) state.at = 0;
  const start = Math.floor(state.at / PAGE) * PAGE;
  const waiting = setTimeout(() => ($("count").textContent = "searching …"), 300);
  try {
    const found = await withMarks("rows?" + parameters({ from: start }));
    if (current !== searches) return;
    Object.assign(state, { total: found.total, start: found.start, rows: found.rows });
    if (state.at >= found.total && found.total) {
      state.at = found.total - 1;
      return refresh({ quiet });
    }
    $("ignored").replaceChildren();
    if (found.ignored.length) write($("ignored"), `not searched: ${found.ignored.map((text) => excerpt(text, 40)).join(", ")}`);
    list(quiet);
  } catch (error) {
    failed(error);
  } finally {
    clearTimeout(waiting);
  }
}

function list(quiet) {
  $("list").replaceChildren(...state.rows.map((row, offset) => entry(row, state.start + offset)));
  if (!state.rows.length) $("list").append(make("p", "quiet", "No row matches."));
  const last = state.start + state.rows.length;
  $("count").textContent = state.rows.length ? `${brief(state.start + 1)}–${brief(last)} of ${brief(state.total)}` : "0 rows";
  $("before").disabled = state.start === 0;
  $("after").disabled = last >= state.total;
  $("clear").hidden = !(state.q || Object.keys(state.values).length);
  const chosen = state.rows[state.at - state.start];
  if (!chosen) {
    state.shown = null;
    $("detail").replaceChildren();
    $("marking").hidden = true;
  } else if (quiet && state.shown?.number === chosen.number) highlight(chosenEntry());
  else open();
  address();
}

function entry(row, at) {
  const line = make("div", "line", make("span", "place", String(row.place)));
  if (row.mark.selected) line.append(make("span", "chosen-mark", "✓"));
  if (row.compared && row.compared !== "same") line.append(make("span", "badge found", row.compared));
  for (const name of BADGES) if (row[name]) line.append(badge(name, excerpt(row[name], 16)));
  for (const kind of row.findings) line.append(make("span", "badge found", excerpt(kind, 24)));
  for (const tag of row.mark.tags) line.append(make("span", "badge", "#" + excerpt(tag, 24)));
  if (row.mark.note) line.append(make("span", "quiet", "✎"));
  const rate = ["pass_rate", "quality_score"].find((name) => row[name]);
  if (rate) line.append(make("span", "score", `${rate === "pass_rate" ? "pass " : ""}${brief(Number(row[rate]))}`));
  const node = make("div", "entry", line, make("div", "excerpt", excerpt(row.title, 200) || "(empty)"));
  node.id = "row-" + row.number;
  node.setAttribute("role", "option");
  node.addEventListener("click", () => select(at));
  return node;
}

const chosenEntry = () => $("row-" + state.rows[state.at - state.start].number);

/** Choose one of the matching rows by its place; its page is asked for. */
function select(at) {
  if (!state.total) return;
  state.at = Math.min(Math.max(at, 0), state.total - 1);
  if (state.at < state.start || state.at >= state.start + state.rows.length) return refresh();
  open();
  address();
}

// --- the row that is chosen ----------------------------------------------------------------------

async function open() {
  const { number } = state.rows[state.at - state.start], current = ++openings;
  highlight(chosenEntry());
  $("fields").disabled = state.shown?.number !== number; // they are those of the row that is left
  try {
    const shown = await withMarks(`row/${number}`);
    if (current !== openings) return;
    state.shown = shown;
    draw();
  } catch (error) {
    failed(error);
  }
}

function draw() {
  const { number, place, side, row, other, findings, mark } = state.shown;
  showRow($("detail"), row, place - 1, state.plain);
  const link = make("a", "", "link");
  link.href = "#" + parameters({ row: number });
  link.title = "the address of this row";
  $("detail").querySelector(".head").append(link);
  const head = $("detail").querySelector(".head");
  for (const part of [difference(row, other), found(findings)].filter(Boolean)) head.after(part);
  if (state.status?.against && !other) {
    const where = side ? state.status.against : state.status.title;
    head.after(make("p", "notice", `This row is only in ${where}.`));
  }
  $("marking").hidden = side === 1;
  $("fields").disabled = false;
  if (!writing()) marks(mark);
  $("saved").textContent = "";
}

function found(findings) {
  if (!findings.length) return null;
  const body = make("tbody");
  for (const [kind, evidence] of findings) {
    body.append(make("tr", "", make("th", "", make("span", "badge found", kind)), make("td", "", excerpt(evidence, 1000))));
  }
  return make("section", "findings", make("h3", "", "findings of the audit"), make("table", "facts", body));
}

/** The columns in which a row and its counterpart differ, side by side, with what differs marked. */
function difference(row, other) {
  if (!other) return null;
  const names = [...new Set([...Object.keys(row), ...Object.keys(other)])];
  const differ = names.filter((name) => !content.certificate.includes(name) && textOf(row[name]) !== textOf(other[name]));
  if (!differ.length) return make("p", "quiet", `The same as in ${state.status.against}.`);
  const section = make("section", "", make("h3", "", `differs from ${state.status.against}, on the right`));
  for (const name of differ.slice(0, 30)) {
    const texts = [row, other].map((each) => textOf(each[name]).slice(0, RENDERED));
    section.append(make("p", "quiet", name), make("div", "difference", ...marked(...texts)));
  }
  return section;
}

function marked(one, other) {
  const shorter = Math.min(one.length, other.length);
  let from = 0, end = 0;
  while (from < shorter && one[from] === other[from]) from++;
  while (end < shorter - from && one.at(-1 - end) === other.at(-1 - end)) end++;
  return [one, other].map((text) => {
    const middle = make("mark", "", text.slice(from, text.length - end));
    return make("pre", "", text.slice(0, from), middle, text.slice(text.length - end));
  });
}

/** A search for what the row was made from. */
function relatives(id) {
  const parents = textOf(state.shown.row.parent).split(/\s+/).filter(Boolean).slice(0, 20);
  if (!parents.length && !id) return null;
  const section = make("section", "family");
  for (const [what, column, texts] of [["parent", "id", parents], ["children of", "parent", "parent" in state.shown.row && id ? [id] : []]]) {
    for (const text of texts) {
      const button = make("button", "link-button", `${what} ${excerpt(text, 64)}`);
      button.addEventListener("click", () => lookFor(`${column}:"${text.replaceAll('"', " ")}"`));
      section.append(button, " ");
    }
  }
  return section.childNodes.length ? section : null;
}

function lookFor(query) {
  clear();
  state.q = $("search").value = query;
  refresh({ first: true });
  $("list").focus();
}

// --- marks ---------------------------------------------------------------------------------------

const writing = () => $("marking").contains(document.activeElement) && document.activeElement.matches("textarea, #tags");

function marks({ note, tags, selected }) {
  $("selected").checked = selected;
  $("tags").value = tags.join(", ");
  $("note").value = note;
}

/** Take the mark over from the form. */
function written() {
  const tags = $("tags").value.split(",").map((tag) => tag.trim()).filter(Boolean);
  save(state.shown.number, { note: $("note").value, tags, selected: $("selected").checked });
}

/** Mark a row: in the list at once, on the server after the marks before. */
function save(number, mark) {
  const row = state.rows.find((each) => each.number === number);
  if (row) {
    row.mark = mark;
    $("row-" + number).replaceWith(entry(row, state.start + state.rows.indexOf(row)));
    highlight(chosenEntry());
  }
  if (state.shown?.number === number) marks((state.shown.mark = mark));
  $("saved").textContent = "";
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(mark) };
  saved = saved
    .then(() => call(`mark/${number}`, options))
    .then(() => ($("saved").textContent = "saved"), (error) => ($("saved").textContent = error.message));
}

function exporting() {
  const only = $("export-rows").value === "selected" ? { q: "", values: JSON.stringify({ "@selected": "yes" }) } : {};
  $("export").href = "export?" + parameters({ ...only, kind: $("export-kind").value });
}

// --- the address: the search and the row that is chosen ------------------------------------------

function address() {
  const row = state.rows[state.at - state.start];
  history.replaceState(null, "", "#" + parameters(row ? { row: row.number } : {}));
}

async function follow() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, { q: wanted.get("q") ?? "", sort: wanted.get("sort") ?? "", down: wanted.get("down") === "1", at: 0 });
  state.values = Object.fromEntries(Object.entries(parsed(wanted.get("values") ?? "{}") ?? {}).map(([name, value]) => [name, String(value)]));
  $("search").value = state.q;
  if (/^\d+$/.test(wanted.get("row") ?? "")) {
    let { place } = await call(`place/${wanted.get("row")}?` + parameters());
    if (place < 0) {
      Object.assign(state, { q: "", values: {} });
      $("search").value = "";
      ({ place } = await call(`place/${wanted.get("row")}?` + parameters()));
    }
    state.at = Math.max(0, place);
  }
  if (state.status) tools(state.status);
  await refresh();
}

// --- keys ----------------------------------------------------------------------------------------

function toggle() {
  const row = state.rows[state.at - state.start];
  if (row && row.compared !== "only there") save(row.number, { ...row.mark, selected: !row.mark.selected });
}

const nextPage = () => state.start + PAGE < state.total && select(state.start + PAGE);
const pageBefore = () => state.start > 0 && select(state.start - PAGE);
const KEYS = [
  ["/", "search", () => ($("search").focus(), $("search").select())],
  ["j ↓", "next row", () => select(state.at + 1)],
  ["k ↑", "row before", () => select(state.at - 1)],
  ["→ n", "next page", nextPage],
  ["← p", "page before", pageBefore],
  ["Home", "first row", () => select(0)],
  ["End", "last row", () => select(state.total - 1)],
  ["Enter", "read the row: arrows scroll it", () => $("detail").focus()],
  ["Escape", "back to the list", () => $("list").focus()],
  ["x", "select the row, or not", toggle],
  ["e", "write a note", () => $("note").focus()],
  ["g", "write tags", () => $("tags").focus()],
  ["s", "texts rendered, or as they are written", () => ((state.plain = !state.plain), state.shown && draw())],
];
function wire() {
  let timer = 0;
  $("search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => ((state.q = $("search").value), refresh({ first: true })), DEBOUNCE_MS);
  });
  $("sort").addEventListener("change", () => {
    Object.assign(state, { sort: $("sort").value.slice(1), down: $("sort").value[0] === "↓" });
    refresh({ first: true });
  });
  $("clear").addEventListener("click", () => (clear(), refresh({ first: true })));
  $("tools").addEventListener("submit", (event) => (event.preventDefault(), $("list").focus()));
  $("marking").addEventListener("submit", (event) => event.preventDefault());
  $("marking").addEventListener("change", written);
  $("before").addEventListener("click", pageBefore);
  $("after").addEventListener("click", nextPage);
  $("export").addEventListener("click", exporting);
  addEventListener("hashchange", () => follow().catch(failed));
}

wire();
controls(KEYS);
exporting();
follow().catch(failed).then(poll);
