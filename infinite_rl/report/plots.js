// Bars and histograms as inline SVG. A bar is a button: it filters the rows.

const WIDE = 340, HIGH = 150;

const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  for (const child of children) node.append(typeof child === "string" ? withCodes(child) : child);
  return node;
};

/** The figure of a plot; `choose(filter)` is called with the filter of a bar. */
function figure(plot, choose) {
  const drawing = plot.kind === "bars" ? barChart(plot, choose) : histogram(plot, choose);
  const caption = make("figcaption", "", make("strong", "", plot.title));
  if (plot.note) {
    const { p5, median, p95 } = plot.note;
    caption.append(make("span", "quiet", `median ${brief(median)} · 90 % in ${brief(p5)}–${brief(p95)}`));
  }
  return make("figure", "", caption, drawing);
}

function button(label, filter, choose, ...shapes) {
  const group = svg("g", { role: "button", tabindex: "0", class: "bar" }, svg("title", {}, label), ...shapes);
  group.setAttribute("aria-label", withCodes(label));
  group.addEventListener("click", () => choose(filter));
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(filter);
  });
  return group;
}

function barChart(plot, choose) {
  const line = 22, most = Math.max(...plot.bars.map(([, value]) => value)) || 1, high = plot.bars.length * line;
  const drawing = svg("svg", { viewBox: `0 0 ${WIDE} ${high}`, role: "group", "aria-label": plot.title });
  plot.bars.forEach(([name, value], number) => {
    const y = number * line, label = name.length > 17 ? excerpt(name, 16) : name;
    drawing.append(
      button(
        `${name}: ${brief(value)}`, { column: plot.column, value: name }, choose,
        svg("rect", { class: "hit", x: 0, y, width: WIDE, height: line }),
        svg("text", { x: 108, y: y + 15, "text-anchor": "end" }, label),
        svg("rect", { class: "fill", x: 114, y: y + 4, rx: 2, width: Math.max(1, (170 * value) / most), height: line - 8 }),
        svg("text", { class: "value", x: 119 + (170 * value) / most, y: y + 15 }, brief(value)),
      ),
    );
  });
  return drawing;
}

function histogram(plot, choose) {
  const { counts, edges } = plot, most = Math.max(...counts) || 1, floor = HIGH - 18, top = 14;
  const width = WIDE / counts.length, units = plot.of === "number" && edges.every((edge, at) => edge === edges[0] + at);
  const drawing = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", "aria-label": plot.title });
  drawing.append(svg("text", { class: "value", x: 0, y: 9 }, brief(most)));
  drawing.append(svg("line", { class: "axis", x1: 0, x2: WIDE, y1: top, y2: top, "stroke-dasharray": "2 3" }));
  counts.forEach((count, number) => {
    const last = number === counts.length - 1, low = edges[number], high = edges[number + 1];
    const size = count ? Math.max(2, ((floor - top) * count) / most) : 0, x = number * width;
    if (!count) return;
    drawing.append(
      button(
        `${brief(low)}${units ? "" : ` to ${brief(high)}`}: ${brief(count)} rows`,
        { column: plot.column, of: plot.of, low, high, last }, choose,
        svg("rect", { class: "hit", x, y: top, width, height: floor - top }),
        svg("rect", { class: "fill", x: x + 0.75, y: floor - size, rx: 1.5, width: Math.max(1, width - 1.5), height: size }),
      ),
    );
  });
  drawing.append(svg("line", { class: "axis", x1: 0, x2: WIDE, y1: floor, y2: floor }));
  drawing.append(...(units ? unitTicks(edges, width) : edgeTicks(edges, width)));
  return drawing;
}

const tick = (number, x, anchor) => svg("text", { class: "tick", x, y: HIGH - 5, "text-anchor": anchor }, brief(number));

/** A number under the middle of each bar. */
function unitTicks(edges, width) {
  const every = Math.ceil(edges.length / 12);
  return edges.slice(0, -1).flatMap((edge, at) => (at % every ? [] : [tick(edge, (at + 0.5) * width, "middle")]));
}

/** Numbers between bars: the first, the last, and some that leave room. */
function edgeTicks(edges, width) {
  const every = Math.ceil(edges.length / 6), last = edges.length - 1;
  const inner = edges.flatMap((edge, at) => (at && at % every === 0 && last - at >= every ? [tick(edge, at * width, "middle")] : []));
  return [tick(edges[0], 0, "start"), ...inner, tick(edges[last], WIDE, "end")];
}
