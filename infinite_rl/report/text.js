// The only way a row's text enters the page: text nodes, never markup.

// Invisible characters, or ones that reorder text: controls, bidi marks, zero widths, fillers, tags, line and paragraph
// separators, halves of surrogate pairs. A joiner inside an emoji is kept.
const UNSEEN =
  /(?<![\p{Extended_Pictographic}\u{1f3fb}-\u{1f3ff}]\ufe0f?)\u200d|(?!\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu;
const MAX_MARKS = 2000;

const unseen = (character) => !"\n\t".includes(character);
const codeOf = (character) => "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

/** Append a text to a node, with a visible mark for each invisible character. */
function write(node, text) {
  let last = 0, marks = 0;
  text = text.replaceAll("\r\n", "\n");
  for (const match of text.matchAll(UNSEEN)) {
    if (!unseen(match[0])) continue;
    node.append(text.slice(last, match.index), mark(match[0]));
    last = match.index + match[0].length;
    if (++marks === MAX_MARKS) break;
  }
  const rest = text.slice(last);
  node.append(marks === MAX_MARKS ? rest.replace(UNSEEN, (character) => (unseen(character) ? "\ufffd" : character)) : rest);
  return node;
}

/** The same as a text, where no elements are possible, such as labels in SVG. */
const withCodes = (text) => text.replace(UNSEEN, (character) => (unseen(character) ? codeOf(character) : character));

function mark(character) {
  const node = document.createElement("span");
  node.className = "unseen";
  node.textContent = codeOf(character);
  node.title = "an invisible character";
  return node;
}

/** One line of a text, for lists: white space collapsed, at most `most` characters. */
const excerpt = (text, most) => {
  const line = text.slice(0, most * 2).replace(/[ \t\r\n]+/g, " ").trim();
  return line.length > most || text.length > most * 2 ? line.slice(0, most).replace(/[\ud800-\udbff]$/, "") + "…" : line;
};

/** An element: `make("p", "quiet", "text", node)`. Texts go through `write`. */
function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  for (const child of children) {
    if (typeof child === "string") write(node, child);
    else if (child) node.append(child);
  }
  return node;
}

/** A number in few characters: 1,234 or 0.0123 or 1.2e-5. */
function brief(number) {
  if (Number.isInteger(number)) return number.toLocaleString("en-US");
  return Math.abs(number) < 0.001 ? number.toExponential(1) : Number(number.toPrecision(3)).toLocaleString("en-US");
}
