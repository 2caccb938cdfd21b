// Syntax highlighting: comments, strings, numbers, keywords and calls.

const words = (text) => new Set(text.split(/\s+/));
const PYTHON = words(`and as assert async await break case class continue def del elif else except finally for from
  global if import in is lambda match nonlocal not or pass raise return try while with yield True False None self`);
const JAVASCRIPT = words(`async await break case catch class const continue debugger default delete do else export
  extends finally for function if import in instanceof let new of return static super switch this throw try typeof var
  void while yield true false null undefined NaN Infinity`);
const STRINGS = `"(?:[^"\\\\\\n]|\\\\[^])*"?|'(?:[^'\\\\\\n]|\\\\[^])*'?`;
const REST = "\\d[\\w.]*|[\\p{L}_$][\\p{L}\\p{N}_$]*|\\s+|[^]";
const pattern = (comments) => new RegExp(`${comments}|${STRINGS}|${REST}`, "gu");
const LANGUAGES = {
  __proto__: null,
  python: [PYTHON, pattern(`#[^\\n]*|"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)`)],
  javascript: [JAVASCRIPT, pattern("//[^\\n]*|/\\*[^]*?(?:\\*/|$)|`(?:[^`\\\\]|\\\\[^])*`?")],
  json: [words("true false null"), new RegExp(`${STRINGS}|${REST}`, "gu")],
};
const ALIASES = { __proto__: null, py: "python", python3: "python", js: "javascript", node: "javascript", typescript: "javascript", ts: "javascript" };
const MAX_CODE = 50_000;

/** A block of code; plain if the language is unknown or the code is very long. */
function code(text, language = "") {
  const name = language.toLowerCase(), grammar = LANGUAGES[ALIASES[name] ?? name];
  const inner = make("code");
  if (!grammar || text.length > MAX_CODE) write(inner, text);
  else colour(inner, text, grammar);
  const block = make("pre", "code", inner);
  if (language) block.dataset.language = excerpt(language, 20);
  block.tabIndex = 0;
  return block;
}

function colour(node, text, [names, tokens]) {
  let plain = "";
  for (const { 0: token, index } of text.matchAll(tokens)) {
    const kind = kindOf(token, names, text[index + token.length]);
    if (!kind) plain += token;
    else {
      if (plain) write(node, plain);
      plain = "";
      node.append(make("span", kind, token));
    }
  }
  write(node, plain);
}

function kindOf(token, names, after) {
  if (token.length > 1 && /^(?:#|\/\/|\/\*)/.test(token)) return "comment";
  if ("\"'`".includes(token[0])) return "string";
  if (/^\d/.test(token)) return "number";
  if (names.has(token)) return "keyword";
  return after === "(" && /^[\p{L}_$]/u.test(token) ? "call" : "";
}

/** JSON with a line for each value; only white space is changed. */
function prettyJson(text) {
  let depth = 0, lines = "";
  const line = () => "\n" + "  ".repeat(Math.min(depth, 40));
  for (const token of text.match(/"(?:[^"\\]|\\[^])*"?|[[\]{},:]|[^\s"[\]{},:]+/g) ?? []) {
    if ("]}".includes(token)) depth--, (lines = /[[{]\s*$/.test(lines.slice(-90)) ? lines.trimEnd() : lines + line());
    lines += token === ":" ? ": " : token;
    if ("[{".includes(token)) depth++, (lines += line());
    if (token === ",") lines += line();
  }
  return lines;
}
