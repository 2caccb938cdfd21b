// The one door by which a row's text gets into the page: text nodes, never markup.

// What is not seen, or turns the text around it: controls, bidi marks, zero widths, fillers, tags, line and paragraph
// separators, halves of surrogate pairs. A joiner inside an emoji is left alone.
const UNSEEN =
  /(?<![\p{Extended_Pictographic}\u{1f3fb}-\u{1f3ff}]\ufe0f?)\u200d|(?!\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu;
const MOST_MARKS = 2000;

const unseen = (character) => !"\n\t".includes(character);
const codeOf = (character) => "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

/** Append a text to a node, with a visible mark in the place of each character that is not seen. */
function write(node, text) {
  let last = 0, marks = 0;
  text = text.replaceAll("\r\n", "\n");
  for (const found of text.matchAll(UNSEEN)) {
    if (!unseen(found[0])) continue;
    node.append(text.slice(last, found.index), mark(found[0]));
    last = found.index + found[0].length;
    if (++marks === MOST_MARKS) break;
  }
  const rest = text.slice(last);
  node.append(marks === MOST_MARKS ? rest.replace(UNSEEN, (found) => (unseen(found) ? "\ufffd" : found)) : rest);
  return node;
}

/** The same as a text, for places that hold no elements, such as the labels of a drawing. */
const withCodes = (text) => text.replace(UNSEEN, (found) => (unseen(found) ? codeOf(found) : found));

function mark(character) {
  const node = document.createElement("span");
  node.className = "unseen";
  node.textContent = codeOf(character);
  node.title = "a character that is not seen";
  return node;
}

/** One line of a text, for lists: white space is one space, and it ends where nobody reads on. */
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
