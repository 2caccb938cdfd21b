// A subset of TeX as MathML. Unknown commands leave the source text.

const MATHML = "http://www.w3.org/1998/Math/MathML";
const MOST_TOKENS = 2000, DEEPEST = 40;

const table = (text) => new Map(text.trim().split(/\s+/).map((pair) => pair.split("=")));
const LETTERS = table(`
  alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ
  nu=ν xi=ξ pi=π varpi=ϖ rho=ρ varrho=ϱ sigma=σ varsigma=ς tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ psi=ψ omega=ω
  Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω infty=∞ emptyset=∅ varnothing=∅
  ell=ℓ hbar=ℏ Re=ℜ Im=ℑ aleph=ℵ partial=∂ nabla=∇ degree=° circ=∘ prime=′ dots=… ldots=… cdots=⋯ vdots=⋮ ddots=⋱
  top=⊤ bot=⊥ imath=ı jmath=ȷ dotsc=… dotsb=⋯ dotsm=⋯ dotso=… square=□ Box=□ diamond=⋄ clubsuit=♣ diamondsuit=♢ heartsuit=♡
  spadesuit=♠`);
const OPERATORS = table(`
  pm=± mp=∓ times=× div=÷ cdot=⋅ ast=∗ star=⋆ bullet=∙ le=≤ leq=≤ leqslant=⩽ ge=≥ geq=≥ geqslant=⩾ lt=< gt=> ne=≠ neq=≠
  equiv=≡ approx=≈ cong=≅ sim=∼ simeq=≃ propto=∝ ll=≪ gg=≫ in=∈ notin=∉ ni=∋ subset=⊂ subseteq=⊆ supset=⊃ supseteq=⊇
  cup=∪ cap=∩ setminus=∖ wedge=∧ land=∧ vee=∨ lor=∨ neg=¬ lnot=¬ forall=∀ exists=∃ to=→ rightarrow=→ leftarrow=← gets=←
  leftrightarrow=↔ Rightarrow=⇒ implies=⟹ Leftarrow=⇐ Leftrightarrow=⇔ iff=⟺ mapsto=↦ longrightarrow=⟶ Longrightarrow=⟹ Longleftrightarrow=⟺ uparrow=↑ downarrow=↓ mid=∣ nmid=∤
  parallel=∥ perp=⊥ angle=∠ triangle=△ oplus=⊕ otimes=⊗ |=‖ langle=⟨ rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ lvert=|
  rvert=| vert=| lVert=‖ rVert=‖ Vert=‖ backslash=∖ colon=: therefore=∴ because=∵ lbrace={ rbrace=} lbrack=[ rbrack=]`);
const LARGE = table("sum=∑ prod=∏ coprod=∐ bigcup=⋃ bigcap=⋂ int=∫ iint=∬ iiint=∭ oint=∮");
const ACCENTS = table("hat=^ widehat=^ bar=¯ overline=¯ vec=→ overrightarrow=→ tilde=~ widetilde=~ dot=˙ ddot=¨");
const SPACES = table(",=0.17em :=0.22em ;=0.28em !=0 quad=1em qquad=2em");
const ESCAPED = new Set("{}%$#&_".split(""));
const FONTS = table(`mathrm=normal mathbf=bold mathbb=double-struck mathcal=script mathfrak=fraktur mathit=italic
  mathsf=sans-serif boldsymbol=bold bold=bold bm=bold mathop=normal operatorname=normal`);
const TEXTS = new Set(["text", "textrm", "textbf", "textit", "textnormal", "emph", "mbox"]);
const FUNCTIONS = new Set(`sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp lim limsup liminf
  max min sup inf gcd lcm det dim ker deg arg hom Pr bmod`.split(/\s+/));
const UNDER = new Set(["lim", "limsup", "liminf", "max", "min", "sup", "inf", "gcd", "det", "Pr"]);
const IGNORED = new Set(["displaystyle", "textstyle", "limits", "nolimits", "big", "Big", "bigg", "Bigg", "bigl", "bigr",
  "Bigl", "Bigr", "left.", "right."]);
const GRIDS = table(`matrix=, pmatrix=(,) bmatrix=[,] Bmatrix={,} vmatrix=|,| Vmatrix=‖,‖ cases={, aligned=, align=,
  align*=, gather=, gather*=, gathered=, equation=, equation*=, eqnarray=, array=, smallmatrix=,`);
const STARS = new Set(["^", "_", "'"]);

class UnknownTex extends Error {}

const leaf = (tag, text, attributes = {}) => {
  const node = document.createElementNS(MATHML, tag);
  node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};
const tree = (tag, ...children) => {
  const node = document.createElementNS(MATHML, tag);
  node.append(...children);
  return node;
};

/** TeX as a <math> element, or null if some of it is unknown. */
function maths(source, display = false) {
  if (source.length > 5000 || [...source.matchAll(UNSEEN)].some((match) => unseen(match[0]))) return null;
  const tokens = source.match(/\s+|\\[a-zA-Z]+|\\[^]|\d+(?:\.\d+)?|[^]/gu) ?? [];
  if (tokens.length > MOST_TOKENS) return null;
  try {
    const node = tree("math", ...new TeX(tokens).whole());
    if (display) node.setAttribute("display", "block");
    node.setAttribute("title", source);
    return node;
  } catch (error) {
    if (error instanceof UnknownTex) return null;
    throw error;
  }
}

class TeX {
  constructor(tokens) {
    this.tokens = tokens;
    this.at = 0;
    this.depth = 0;
  }

  whole() {
    const nodes = this.row([]);
    if (this.at < this.tokens.length) throw new UnknownTex();
    return nodes;
  }

  peek() {
    while (this.at < this.tokens.length && !this.tokens[this.at].trim()) this.at++;
    return this.tokens[this.at];
  }

  next() {
    const token = this.peek();
    if (token === undefined) throw new UnknownTex();
    this.at++;
    return token;
  }

  expect(token) {
    if (this.next() !== token) throw new UnknownTex();
  }

  /** What stands before one of `ends` or the end. */
  row(ends) {
    if (++this.depth > DEEPEST) throw new UnknownTex();
    const nodes = [];
    for (let token; (token = this.peek()) !== undefined && !ends.includes(token); ) {
      const node = this.scripted();
      if (node) nodes.push(node);
    }
    this.depth--;
    return nodes;
  }

  scripted() {
    const first = this.tokens[this.at];
    const base = STARS.has(this.peek()) ? tree("mrow") : this.atom();
    let under = null, over = null;
    for (let token; STARS.has((token = this.peek())); ) {
      this.next();
      if (token === "_" && !under) under = this.argument();
      else if (token === "^" && !over) over = this.argument();
      else if (token === "'") over = tree("mrow", ...(over ? [over] : []), leaf("mo", "′"));
      else throw new UnknownTex();
    }
    if (!under && !over) return base;
    const name = first.slice(1), stacked = (LARGE.has(name) && !name.includes("int")) || UNDER.has(name);
    if (under && over) return tree(stacked ? "munderover" : "msubsup", base, under, over);
    if (under) return tree(stacked ? "munder" : "msub", base, under);
    return tree(stacked ? "mover" : "msup", base, over);
  }

  argument() {
    const token = this.peek();
    if (token === "{") return this.group();
    if (/^\d\d/.test(token ?? "")) {
      // x^23 is x^2 followed by 3
      this.tokens[this.at] = token.slice(1);
      return leaf("mn", token[0]);
    }
    return this.atom() ?? tree("mrow");
  }

  group() {
    this.expect("{");
    const nodes = this.row(["}"]);
    this.expect("}");
    return tree("mrow", ...nodes);
  }

  atom() {
    const token = this.next();
    if (token === "{") {
      this.at--;
      return this.group();
    }
    if (token[0] === "\\" && token.length > 1) return this.command(token.slice(1));
    if (/^\d/.test(token)) return leaf("mn", token);
    if (/^\p{L}/u.test(token)) return leaf("mi", token);
    if (token === "~") return leaf("mspace", "", { width: "0.25em" });
    if ("}&\\$#%".includes(token)) throw new UnknownTex();
    return leaf("mo", token === "-" ? "−" : token, "()[]|".includes(token) ? { stretchy: "false" } : {});
  }

  command(name) {
    if (LETTERS.has(name)) return leaf("mi", LETTERS.get(name), { mathvariant: "normal" });
    if (OPERATORS.has(name)) return leaf("mo", OPERATORS.get(name));
    if (LARGE.has(name)) return leaf("mo", LARGE.get(name), { largeop: "true" });
    if (ESCAPED.has(name)) return leaf("mo", name);
    if (SPACES.has(name)) return leaf("mspace", "", { width: SPACES.get(name) });
    if (name === " ") return leaf("mspace", "", { width: "0.25em" });
    if (FUNCTIONS.has(name)) return leaf("mi", name, { mathvariant: "normal" });
    if (IGNORED.has(name)) return null;
    if (TEXTS.has(name)) return leaf("mtext", this.raw());
    if (name === "operatorname") return leaf("mi", this.raw(), { mathvariant: "normal" });
    if (FONTS.has(name)) return this.font(FONTS.get(name));
    if (ACCENTS.has(name)) return tree("mover", this.argument(), leaf("mo", ACCENTS.get(name)));
    const build = STRUCTURES[name];
    if (!build) throw new UnknownTex();
    return build.call(this);
  }

  /** The characters of a group as they are written. */
  raw() {
    this.expect("{");
    let text = "", open = 0;
    for (;;) {
      const token = this.tokens[this.at++];
      if (token === undefined || (token[0] === "\\" && token.length > 2)) throw new UnknownTex();
      if (token === "}" && open-- === 0) return text;
      if (token === "{") open++;
      text += token.replace(/^\\(.)$/, "$1");
    }
  }

  font(variant) {
    const node = this.argument();
    const styled = tree("mstyle", node);
    styled.setAttribute("class", variant);
    if (variant === "double-struck") for (const leaf of styled.querySelectorAll("mi")) leaf.textContent = doubled(leaf.textContent);
    return styled;
  }

  grid() {
    let name = this.raw();
    const fences = GRIDS.get(name);
    if (fences === undefined) throw new UnknownTex();
    if (name === "array") this.raw();
    const rows = [[[]]];
    for (let token; (token = this.peek()) !== "\\end"; ) {
      if (token === undefined) throw new UnknownTex();
      if (token === "\\\\" || token === "\\hline") {
        this.next();
        if (token === "\\\\") rows.push([[]]);
      } else if (token === "&") {
        this.next();
        rows.at(-1).push([]);
      } else rows.at(-1).at(-1).push(...this.row(["&", "\\\\", "\\end", "\\hline"]));
    }
    this.next();
    if (this.raw() !== name) throw new UnknownTex();
    if (rows.at(-1).length === 1 && !rows.at(-1)[0].length) rows.pop();
    const body = tree("mtable", ...rows.map((cells) => tree("mtr", ...cells.map((cell) => tree("mtd", ...cell)))));
    if (name === "cases" || name.startsWith("align")) body.setAttribute("class", "aligned");
    const [open, close] = fences.split(",");
    return tree("mrow", ...(open ? [leaf("mo", open)] : []), body, ...(close ? [leaf("mo", close)] : []));
  }
}

const doubled = (letter) => ({ R: "ℝ", Z: "ℤ", N: "ℕ", Q: "ℚ", C: "ℂ", P: "ℙ", H: "ℍ" })[letter] ?? letter;
function fraction() {
  return tree("mfrac", this.argument(), this.argument());
}
function binomial() {
  const node = fraction.call(this);
  node.setAttribute("linethickness", "0");
  return tree("mrow", leaf("mo", "("), node, leaf("mo", ")"));
}
// Commands with arguments. Each is called with the parser as `this`.
const STRUCTURES = {
  __proto__: null, // so that no name finds anything but a row of this table
  frac: fraction,
  dfrac: fraction,
  tfrac: fraction,
  cfrac: fraction,
  binom: binomial,
  dbinom: binomial,
  sqrt() {
    if (this.peek() !== "[") return tree("msqrt", this.argument());
    this.next();
    const degree = tree("mrow", ...this.row(["]"]));
    this.expect("]");
    return tree("mroot", this.argument(), degree);
  },
  boxed() {
    const node = tree("mrow", this.argument());
    node.setAttribute("class", "boxed");
    return node;
  },
  pmod() {
    return tree("mrow", leaf("mo", "("), leaf("mi", "mod"), leaf("mspace", "", { width: "0.3em" }), this.argument(), leaf("mo", ")"));
  },
  not() {
    const node = this.atom();
    if (!node) throw new UnknownTex();
    node.textContent += "\u0338";
    return node;
  },
  left() {
    const open = fence(this.next());
    const nodes = this.row(["\\right"]);
    this.expect("\\right");
    return tree("mrow", ...open, ...nodes, ...fence(this.next()));
  },
  begin() {
    return this.grid();
  },
};
function fence(token) {
  if (token === ".") return [];
  const name = token.slice(1);
  const text = token[0] === "\\" ? OPERATORS.get(name) ?? (ESCAPED.has(name) ? name : null) : token;
  if (!text || !/^[()[\]{}|‖⟨⟩⌊⌋⌈⌉/<>]$/u.test(text)) throw new UnknownTex();
  return [leaf("mo", text, { fence: "true", stretchy: "true" })];
}
