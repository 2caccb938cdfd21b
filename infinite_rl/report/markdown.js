// Markdown as nodes. Nothing in it can load, link or run: addresses and HTML are shown as text.

const DEEP = 8; // quotes in lists in quotes, and emphasis in emphasis
const MOST_CELLS = 5_000; // of a table that are laid out: a browser takes seconds for 100,000
const TAGS = ["answer", "think", "thinking", "reasoning", "solution", "thought"];
const FENCE = /^\s{0,9}(`{3,}|~{3,})\s*([^\s`]*)/;
const ITEM = /^(\s{0,40})([-*+]|\d{1,9}[.)])\s+(?=\S)/;
const HEADING = /^(#{1,6})\s+/;
const DISPLAY = /^\s*(\$\$|\\\[|\\begin\{(?:align|gather|equation|eqnarray)\*?\})/;
const RULE = /^\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;

/** Append a text as Markdown. `language` is that of fences without one. */
function markdown(parent, source, language = "", depth = 0) {
  if (depth > DEEP) return write(parent, source);
  const lines = source.replaceAll("\r\n", "\n").split("\n");
  for (let at = 0; at < lines.length; ) at = block(parent, lines, at, language, depth);
  return parent;
}

/** Append the block that begins at a line, and return the line after it. */
function block(parent, lines, at, language, depth) {
  const line = lines[at];
  if (!line.trim()) return at + 1;
  for (const rule of [fenced, tagged, displayed, quoted, listed, tabled]) {
    const end = rule(parent, lines, at, language, depth);
    if (end) return end;
  }
  const heading = HEADING.exec(line);
  if (heading) {
    inline(parent.appendChild(make("h" + Math.min(6, heading[1].length + 2))), line.slice(heading[0].length));
    return at + 1;
  }
  if (line.length < 200 && RULE.test(line)) {
    parent.append(make("hr"));
    return at + 1;
  }
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !begins(lines[end])) end++;
  inline(parent.appendChild(make("p")), lines.slice(at, end).join("\n"));
  return end;
}

const opening = (line) => TAGS.find((tag) => line.trimStart().startsWith(`<${tag}>`));
const begins = (line) =>
  FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || /^\s{0,3}>/.test(line) || opening(line) || DISPLAY.test(line);

function fenced(parent, lines, at, language) {
  const open = FENCE.exec(lines[at]);
  if (!open) return 0;
  let end = at + 1;
  while (end < lines.length && !closes(lines[end], open[1])) end++;
  parent.append(code(lines.slice(at + 1, end).join("\n"), open[2] || language));
  return end + 1;
}

const closes = (line, fence) => line.trim().startsWith(fence) && !line.trim().replaceAll(fence[0], "");

function tagged(parent, lines, at, language, depth) {
  const tag = opening(lines[at]);
  if (!tag) return 0;
  let end = at;
  while (end < lines.length && !lines[end].includes(`</${tag}>`)) end++;
  if (end === lines.length) return 0;
  const text = lines.slice(at, end + 1).join("\n").trimStart().slice(tag.length + 2);
  const close = text.lastIndexOf(`</${tag}>`);
  const box = parent.appendChild(make("section", `tagged ${tag}`, make("span", "tag", `<${tag}>`)));
  const inner = box.appendChild(make("div"));
  const short = !text.slice(0, close).includes("\n") && maths(text.slice(0, close).trim());
  if (short && /[\\^]/.test(text)) inner.append(make("p", "", short));
  else markdown(inner, text.slice(0, close), language, depth + 1);
  const after = text.slice(close + tag.length + 3);
  if (after.trim()) inline(parent.appendChild(make("p")), after);
  return end + 1;
}

function displayed(parent, lines, at) {
  const open = DISPLAY.exec(lines[at])?.[1];
  if (!open) return 0;
  const close = { $$: "$$", "\\[": "\\]" }[open] ?? open.replace("begin", "end"), grid = close.length > 2;
  let text = "";
  for (let end = at; end < Math.min(lines.length, at + 40); end++) {
    text += (end > at ? "\n" : "") + lines[end];
    const from = text.indexOf(open) + open.length, found = text.indexOf(close, from);
    if (found < 0) continue;
    const whole = text.slice(from - open.length, found + close.length), after = text.slice(found + close.length);
    parent.append(make("div", "display", formula(grid ? whole : text.slice(from, found), whole, true)));
    if (after.trim()) inline(parent.appendChild(make("p")), after.trimStart());
    return end + 1;
  }
  return 0;
}

function quoted(parent, lines, at, language, depth) {
  let end = at;
  while (end < lines.length && /^\s{0,3}>/.test(lines[end])) end++;
  if (end === at) return 0;
  const inner = lines.slice(at, end).map((line) => line.replace(/^\s{0,3}> ?/, "")).join("\n");
  markdown(parent.appendChild(make("blockquote")), inner, language, depth + 1);
  return end;
}

function listed(parent, lines, at, language, depth) {
  const first = ITEM.exec(lines[at]);
  if (!first) return 0;
  const ordered = /\d/.test(first[2]);
  const list = parent.appendChild(make(ordered ? "ol" : "ul"));
  if (ordered) list.start = parseInt(first[2], 10);
  for (let found; at < lines.length && (found = ITEM.exec(lines[at])) && /\d/.test(found[2]) === ordered; ) {
    const [text, end] = item(lines, at, found);
    markdown(list.appendChild(make("li")), text, language, depth + 1);
    at = end;
  }
  return at;
}

/** The text of a list's item, and the line after it: what follows is indented, or goes on with the paragraph. */
function item(lines, at, found) {
  const margin = found[1].length, text = [lines[at].slice(found[0].length)];
  let end = at + 1;
  for (; end < lines.length; end++) {
    const line = lines[end], indent = line.search(/\S/);
    if (indent < 0) {
      const next = lines[end + 1] ?? "";
      if (next.search(/\S/) <= margin && !(ITEM.test(next) && next.search(/\S/) === margin)) break;
      text.push("");
    } else if (indent > margin) text.push(line.slice(Math.min(indent, found[0].length)));
    else if (begins(line) || !text.at(-1)) break;
    else text.push(line);
  }
  return [text.join("\n").trimEnd(), end];
}

const cellsOf = (line) => line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|");

function tabled(parent, lines, at) {
  const under = lines[at + 1] ?? "";
  if (!lines[at].includes("|") || !/^[\s|:-]+$/.test(under) || !under.includes("-") || !under.includes("|")) return 0;
  const row = (line, tag) => {
    const node = make("tr");
    for (const cell of cellsOf(line)) inline(node.appendChild(make(tag)), cell.trim());
    return node;
  };
  const body = make("tbody");
  let end = at + 2, cells = cellsOf(lines[at]).length;
  if (cells > MOST_CELLS) return 0;
  while (end < lines.length && lines[end].includes("|") && (cells += cellsOf(lines[end]).length) <= MOST_CELLS) {
    body.append(row(lines[end++], "td"));
  }
  parent.append(make("table", "", make("thead", "", row(lines[at], "th")), body));
  const rest = end;
  while (end < lines.length && lines[end].includes("|")) end++;
  if (end > rest) parent.append(make("pre", "plain", lines.slice(rest, end).join("\n")));
  return end;
}

/** A formula, or its source where it is not understood. */
const formula = (text, source, display) => maths(text, display) ?? make("code", "tex", source);

// Inline spans. Each gets the text and a position, and returns a node and the position after it.
const SPANS = { "\\": escaped, "`": coded, $: formulated, "*": stressed, _: stressed, "~": stressed, "[": linked, "!": linked };

function inline(parent, text, depth = 0) {
  const absent = new Set(); // what was looked for, and does not come any more: so that all is read but a few times
  let plain = 0;
  for (const { index } of text.matchAll(/[\\`$*_~[!]/g)) {
    if (index < plain || depth > DEEP) continue;
    const found = SPANS[text[index]](text, index, depth, absent);
    if (!found) continue;
    const [start, node, end] = [index, ...found];
    write(parent, text.slice(plain, start));
    parent.append(node);
    plain = end;
  }
  write(parent, text.slice(plain));
}

/** Where `what` comes next, or -1; that it does not is remembered. */
function find(text, what, from, absent) {
  if (absent.has(what)) return -1;
  const found = text.indexOf(what, from);
  if (found < 0) absent.add(what);
  return found;
}

function escaped(text, at, depth, absent) {
  const next = text[at + 1];
  if (next === "(" || next === "[") {
    const end = find(text, next === "(" ? "\\)" : "\\]", at + 2, absent);
    if (end > 0) return [formula(text.slice(at + 2, end), text.slice(at, end + 2), next === "["), end + 2];
  }
  return next && "`*_$[]#~|>!\\".includes(next) ? [document.createTextNode(next), at + 2] : null;
}

function coded(text, at, depth, absent) {
  const ticks = /^`{1,9}/.exec(text.slice(at, at + 9))[0];
  const end = find(text, ticks, at + ticks.length, absent);
  return end < 0 ? null : [make("code", "", text.slice(at + ticks.length, end)), end + ticks.length];
}

function formulated(text, at, depth, absent) {
  if (text[at + 1] === "$") {
    const end = find(text, "$$", at + 2, absent);
    return end < 0 ? null : [formula(text.slice(at + 2, end), text.slice(at, end + 2), true), end + 2];
  }
  const end = find(text, "$", at + 1, absent), inner = text.slice(at + 1, end);
  if (end < 0 || end === at + 1 || end - at > 1000 || /^\s|\s$|[^\\]\\$/.test(inner) || /\d/.test(text[end + 1] ?? "")) return null;
  return [formula(inner, text.slice(at, end + 1), false), end + 1];
}

function stressed(text, at, depth, absent) {
  const twice = text[at + 1] === text[at], sign = twice ? text.slice(at, at + 2) : text[at];
  const word = (character) => /[\p{L}\p{N}]/u.test(character ?? "");
  if (sign === "~" || !text[at + sign.length]?.trim()) return null;
  if (sign[0] === "_" && word(text[at - 1])) return null;
  const end = find(text, sign, at + sign.length + 1, absent);
  if (end < 0 || !text[end - 1].trim() || (sign[0] === "_" && word(text[end + sign.length]))) return null;
  if (sign === "*" && text[end + 1] === "*") return null;
  const node = make(sign === "~~" ? "s" : twice ? "strong" : "em");
  inline(node, text.slice(at + sign.length, end), depth + 1);
  return [node, end + sign.length];
}

function linked(text, at, depth, absent) {
  const image = text[at] === "!", from = at + (image ? 2 : 1);
  if (image && text[at + 1] !== "[") return null;
  const middle = find(text, "](", from, absent), end = middle < 0 ? -1 : find(text, ")", middle, absent);
  if (end < 0 || text.slice(from, middle).includes("[")) return null;
  const node = make("span", "link", image ? "image: " : "");
  inline(node, text.slice(from, middle), depth + 1);
  node.append(make("span", "address", ` (${text.slice(middle + 2, end)})`));
  return [node, end + 1];
}
