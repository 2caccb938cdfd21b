// The page's two views, and their keys and clicks.

const PAGE = 50, DEBOUNCE_MS = 120;
const content = JSON.parse($("content").textContent);
const { columns, rows } = content;
const search = new Search(rows, columns);
const families = new Families(content.family);
const state = { query: "", values: {}, ranges: [], sort: {}, matches: [], at: 0, plain: false };

const objectOf = (number) => Object.fromEntries(columns.map((name, index) => [name, rows[number][index]]));
const valueOf = (number, name) => textOf(rows[number][columns.indexOf(name)]);
const titleOf = (number) => {
  const name = ["prompt", "question", "problem", "instruction", "messages"].find((column) => columns.includes(column));
  return valueOf(number, name ?? columns[0]);
};
const pages = () => Math.max(1, Math.ceil(state.matches.length / PAGE));
const page = () => Math.floor(state.at / PAGE);

// --- the overview --------------------------------------------------------------------------------

function overview() {
  write($("title"), content.title);
  const tiles = { rows: content.seen };
  if (content.kept !== null) Object.assign(tiles, { kept: content.kept, rejected: content.seen - content.kept });
  if (content.kept !== null && content.seen) tiles.acceptance = `${((100 * content.kept) / content.seen).toFixed(1)} %`;
  const about = Object.fromEntries(content.about);
  for (const name of ["calls", "cost, $"]) if (about[name]) tiles[name] = Number(about[name]);
  if (content.distinct) {
    const { tasks, effective, rows: of, drawn } = content.distinct;
    tiles["distinct tasks" + (drawn ? ` in ${brief(of)} rows drawn` : "")] = tasks;
    tiles["effective number of tasks"] = Math.round(effective * 10) / 10;
  }
  for (const [name, value] of Object.entries(tiles)) {
    $("tiles").append(make("div", "tile", make("b", "", typeof value === "number" ? brief(value) : value), make("span", "", name)));
  }
  leftOut();
  if (content.map) taskMap($("map"), content.map, chooseTasks);
  $("plots").append(...content.plots.map((plot) => figure(plot, choose)));
  if (!content.plots.length) $("plots").append(make("p", "quiet", "Nothing to plot: no column has numbers, kinds or long texts."));
  pairs();
  factTable("about", content.about);
  factTable("constants", content.constants);
}

function leftOut() {
  const notes = [];
  if (rows.length < content.seen) {
    notes.push(`The browser has ${brief(rows.length)} of the ${brief(content.seen)} rows, drawn at random; the distributions are of all.`);
  }
  if (content.cut) notes.push(`${brief(content.cut)} long texts have only their first ${brief(content.limit)} characters in this page.`);
  $("left-out").textContent = notes.join(" ");
  $("left-out").hidden = !notes.length;
}

function factTable(id, lines) {
  $(id).hidden = !lines.length;
  const body = $(id).querySelector("tbody");
  for (const [name, text] of lines) body.append(make("tr", "", make("th", "", name), make("td", "", text)));
}

function pairs() {
  $("similar").hidden = !content.similar.length;
  for (const [one, other, similarity] of content.similar) {
    const cells = [one, other].map((number) => {
      const link = make("button", "link-button", `${number + 1}  ${excerpt(titleOf(number), 90)}`);
      link.addEventListener("click", () => open(number));
      return make("td", "", link);
    });
    $("similar").querySelector("tbody").append(make("tr", "", make("td", "", `${Math.round(similarity * 100)} %`), ...cells));
  }
}

// --- the rows ------------------------------------------------------------------------------------

function tools() {
  for (const name of content.facets) {
    const select = make("select");
    select.id = "facet-" + name;
    select.append(new Option("all", ""));
    const plot = content.plots.find((plot) => plot.kind === "bars" && plot.title === name);
    for (const [value, count] of plot?.bars ?? []) {
      const option = make("option", "", `${excerpt(value, 30)} (${brief(count)})`);
      option.value = value;
      select.append(option);
    }
    select.addEventListener("change", () => (filter(name, select.value), refresh()));
    $("facets").append(make("label", "", `${name} `, select));
  }
  $("sort").append(new Option("as in the file", ""));
  for (const name of content.numeric) for (const sign of ["↓", "↑"]) $("sort").append(new Option(`${name} ${sign}`, sign + name));
  $("sort").addEventListener("change", () => {
    state.sort = { column: $("sort").value.slice(1), down: $("sort").value[0] === "↓" };
    refresh();
  });
  let timer = 0;
  $("search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => ((state.query = $("search").value), refresh()), DEBOUNCE_MS);
  });
  $("tools").addEventListener("submit", (event) => (event.preventDefault(), $("list").focus()));
  $("clear").addEventListener("click", () => (clear(), refresh()));
}

function filter(column, value) {
  if (value === "") delete state.values[column];
  else state.values[column] = value;
}

function clear() {
  Object.assign(state, { query: "", values: {}, ranges: [] });
  $("search").value = "";
}

/** A bar was clicked: show its rows. */
function choose(chosen) {
  if (chosen.value !== undefined && content.facets.includes(chosen.column)) filter(chosen.column, chosen.value);
  else state.ranges = [...state.ranges.filter((range) => range.column !== chosen.column || range.of !== chosen.of), chosen];
  show("rows");
  refresh();
  $("list").focus();
}

/** A cell of the map was clicked: show its rows, by their concept and level alone. */
function chooseTasks(concept, level) {
  clear();
  const wanted = level === undefined ? { concept } : { concept, level };
  for (const [column, value] of Object.entries(wanted)) {
    if (value && content.facets.includes(column)) filter(column, value);
    else state.ranges.push({ column, value });
  }
  show("rows");
  refresh();
  $("list").focus();
}

async function refresh(selected) {
  const filters = [...state.ranges, ...Object.entries(state.values).map(([column, value]) => ({ column, value }))];
  chips();
  const waiting = setTimeout(() => ($("count").textContent = "searching …"), 200);
  const matches = await search.find(state.query, filters, state.sort);
  clearTimeout(waiting);
  if (!matches) return;
  state.matches = matches;
  state.at = Math.max(0, selected === undefined ? 0 : matches.indexOf(selected));
  draw();
}

function chips() {
  for (const name of content.facets) $("facet-" + name).value = state.values[name] ?? "";
  const buttons = state.ranges.map((range) => {
    const what = range.value ?? `${brief(range.low)}–${brief(range.high)}`;
    const chip = make("button", "chip", `${range.of === "length" ? "length of " : ""}${range.column}: ${what} ×`);
    chip.type = "button";
    chip.setAttribute("aria-label", "Remove the filter " + chip.textContent.slice(0, -2));
    chip.addEventListener("click", () => ((state.ranges = state.ranges.filter((other) => other !== range)), refresh()));
    return chip;
  });
  $("ranges").replaceChildren(...buttons);
  $("clear").hidden = !(state.query || buttons.length || Object.keys(state.values).length);
}

function draw() {
  const from = page() * PAGE, here = state.matches.slice(from, from + PAGE);
  $("list").replaceChildren(...here.map((number, offset) => entry(number, from + offset)));
  if (!here.length) $("list").append(make("p", "quiet", "No row matches."));
  const of = rows.length < content.seen ? ` (of ${brief(content.seen)} in all)` : "";
  $("count").textContent = here.length
    ? `${brief(from + 1)}–${brief(from + here.length)} of ${brief(state.matches.length)}${of}`
    : `0 of ${brief(rows.length)}${of}`;
  $("before").disabled = page() === 0;
  $("after").disabled = page() >= pages() - 1;
  select(state.at);
}

function entry(number, at) {
  const line = make("div", "line", make("span", "place", String(number + 1)));
  for (const name of BADGES) if (valueOf(number, name)) line.append(badge(name, excerpt(valueOf(number, name), 16)));
  const rate = ["pass_rate", "quality_score"].find((name) => valueOf(number, name));
  if (rate) line.append(make("span", "score", `${rate === "pass_rate" ? "pass " : ""}${brief(Number(valueOf(number, rate)))}`));
  const node = make("div", "entry", line, make("div", "excerpt", excerpt(titleOf(number), 200) || "(empty)"));
  node.id = "row-" + number;
  node.setAttribute("role", "option");
  node.addEventListener("click", () => select(at));
  return node;
}

/** Select one of the matching rows by its index; its page is shown. */
function select(at) {
  if (!state.matches.length) return $("detail").replaceChildren();
  const before = page();
  state.at = Math.min(Math.max(at, 0), state.matches.length - 1);
  if (page() !== before) return draw();
  const number = state.matches[state.at];
  highlight($("row-" + number));
  showRow($("detail"), objectOf(number), number, state.plain);
}

/** Show one row, without any filter. */
function open(number) {
  clear();
  show("rows");
  refresh(number).then(() => $("list").focus());
}

// --- views and keys ------------------------------------------------------------------------------

function show(view) {
  for (const name of ["overview", "rows"]) {
    $(name).hidden = name !== view;
    $("tab-" + name).setAttribute("aria-selected", String(name === view));
    $("tab-" + name).tabIndex = name === view ? 0 : -1;
  }
}

const KEYS = [
  ["/", "search", () => (show("rows"), $("search").focus(), $("search").select())],
  ["j ↓", "next row", () => (show("rows"), select(state.at + 1))],
  ["k ↑", "row before", () => (show("rows"), select(state.at - 1))],
  ["→ n", "next page", () => (show("rows"), page() < pages() - 1 && select((page() + 1) * PAGE))],
  ["← p", "page before", () => (show("rows"), page() > 0 && select((page() - 1) * PAGE))],
  ["Home", "first row", () => (show("rows"), select(0))],
  ["End", "last row", () => (show("rows"), select(state.matches.length - 1))],
  ["Enter", "read the row: arrows scroll it", () => (show("rows"), $("detail").focus())],
  ["Escape", "back to the list", () => $("list").focus()],
  ["s", "texts rendered, or as they are written", () => ((state.plain = !state.plain), select(state.at))],
  ["o", "overview", () => (show("overview"), $("tab-overview").focus())],
  ["r", "rows", () => (show("rows"), $("list").focus())],
];
function tabs(event) {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  event.stopPropagation();
  const other = $("rows").hidden ? "rows" : "overview";
  show(other);
  $("tab-" + other).focus();
}

function wire() {
  for (const name of ["overview", "rows"]) {
    $("tab-" + name).addEventListener("click", () => show(name));
    $("tab-" + name).addEventListener("keydown", tabs);
  }
  $("before").addEventListener("click", () => select((page() - 1) * PAGE));
  $("after").addEventListener("click", () => select((page() + 1) * PAGE));
}

overview();
tools();
wire();
controls(KEYS);
refresh().then(() => search.prepare());
