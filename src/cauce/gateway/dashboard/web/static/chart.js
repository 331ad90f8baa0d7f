// Draws the chart that was chosen, as SVG. Colours come from the style sheet.

import { h, s } from "./dom.js";
import { short } from "./format.js";
import { fitted, widthOf } from "./labels.js";
import { readable } from "./numbers.js";

const BAR = 24;
const WIDEST = 640;
const NARROWEST = 300;
const AIR = 14;

/** @param {import("./chart_choice.js").Bars | import("./chart_choice.js").Lines | import("./chart_choice.js").Scatter} chart
 * @param {number} room in pixels: on a phone the picture is made narrower, so that its texts stay readable */
export function draw(chart, room) {
  const width = room > 0 ? Math.min(WIDEST, Math.max(NARROWEST, room)) : WIDEST;
  if (chart.kind === "bars") return bars(chart, width);
  return chart.kind === "line" ? lines(chart, width) : scatter(chart, width);
}

/** @param {import("./chart_choice.js").Bars} chart @param {number} width */
function bars(chart, width) {
  const label = width * 0.36;
  const least = Math.min(0, ...chart.bars.map((bar) => bar.value));
  const most = Math.max(0, ...chart.bars.map((bar) => bar.value));
  const scale = (/** @type {number} */ value) => ((value - least) / (most - least || 1)) * (width - label - 70);
  const rows = chart.bars.map((bar, index) => {
    const [from, to] = [scale(Math.min(0, bar.value)), scale(Math.max(0, bar.value))];
    return s("g.bar", { transform: `translate(0 ${index * BAR})` },
      s("title", {}, `${bar.label}: ${readable(String(bar.value))}`),
      s("text.label", { x: label - 8, y: 16, "text-anchor": "end" }, fitted(bar.label, label - 10)),
      s("rect", { x: label + from, y: 4, width: Math.max(to - from, 1), height: BAR - 8, rx: 3 }),
      s("text.value", { x: label + to + 6, y: 16 }, short(bar.value)));
  });
  const picture = figure(`Bars: ${chart.value}`, width, chart.bars.length * BAR, rows);
  return h("div.tall", { tabindex: "0", role: "region", "aria-label": `Chart of ${chart.value}` }, picture);
}

/** @param {import("./chart_choice.js").Lines} chart @param {number} width */
function lines(chart, width) {
  const height = 260;
  const all = chart.series.flatMap((one) => one.values.filter((value) => value !== null));
  const y = scaleOf(...range(all), height - 34, 12);
  const values = y.ticks.map((tick) => tickText(tick, y.step));
  const widest = Math.max(...chart.x.map((name) => widthOf(name)));
  const box = { left: Math.max(widest / 2, ...values.map((text) => widthOf(text) + 8)), right: width - Math.max(widest / 2, 12) };
  const step = (box.right - box.left) / Math.max(chart.x.length - 1, 1);
  const x = (/** @type {number} */ index) => (chart.x.length === 1 ? (box.left + box.right) / 2 : box.left + index * step);
  // Skip labels so that even the widest ones do not overlap.
  const every = Math.max(1, Math.ceil((widest + AIR) / step));
  const marks = [
    ...y.ticks.map((tick, index) => s("g.grid", {},
      s("line", { x1: box.left, x2: box.right, y1: y.at(tick), y2: y.at(tick) }),
      s("text.value", { x: box.left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, values[index]))),
    ...chart.x.map((name, index) => (index % every ? null :
      s("text.label.x-label", { x: x(index), y: height - 14, "text-anchor": "middle" }, name))),
  ];
  const drawn = chart.series.map((one, number) => s(`g.series.colour-${number}`, {}, s("title", {}, one.name),
    s("path", { d: pathOf(one.values, x, y.at) }),
    one.values.map((value, index) => (value === null ? null :
      s("circle", { cx: x(index), cy: y.at(value), r: 3 }, s("title", {}, `${one.name}, ${chart.x[index]}: ${readable(String(value))}`))))));
  const picture = figure(`Lines: ${chart.value} by ${chart.x[0]} to ${chart.x[chart.x.length - 1]}`, width, height, [...marks, ...drawn]);
  return h("div", {}, picture, legend(chart));
}

/** @param {import("./chart_choice.js").Lines} chart */
function legend(chart) {
  const keys = chart.series.map((one, number) => h("li", {}, h(`span.key.colour-${number}`), one.name));
  const left = chart.left ? h("li.quiet", {}, `and ${chart.left} more that are not shown`) : null;
  return h("ul.legend", {}, keys, left);
}

/** @param {import("./chart_choice.js").Scatter} chart @param {number} width */
function scatter(chart, width) {
  const height = 360;
  const box = { left: 52, right: width - 12, top: 12, bottom: height - 36 };
  const x = scaleOf(...extent(chart.points.map((point) => point.x)), box.left, box.right);
  const y = scaleOf(...extent(chart.points.map((point) => point.y)), box.bottom, box.top);
  const marks = [
    ...x.ticks.map((tick) => s("g.grid", {}, s("line", { x1: x.at(tick), x2: x.at(tick), y1: box.top, y2: box.bottom }),
      s("text.label", { x: x.at(tick), y: height - 16, "text-anchor": "middle" }, tickText(tick, x.step)))),
    ...y.ticks.map((tick) => s("g.grid", {}, s("line", { x1: box.left, x2: box.right, y1: y.at(tick), y2: y.at(tick) }),
      s("text.value", { x: box.left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, tickText(tick, y.step)))),
    ...chart.points.map((point) => s("g.series.colour-0", {},
      s("circle", { cx: x.at(point.x), cy: y.at(point.y), r: 4 }, s("title", {}, `${point.label}: ${point.x}, ${point.y}`)))),
  ];
  return figure(`Scatter: ${chart.x} and ${chart.y}`, width, height, marks);
}

/** @param {string} label @param {number} width @param {number} height @param {any[]} children */
function figure(label, width, height, children) {
  return s("svg.chart", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, children);
}

/** A linear scale with round ticks. @param {number} least @param {number} most @param {number} from @param {number} to */
export function scaleOf(least, most, from, to) {
  const span = most - least || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  const ticks = [];
  for (let number = Math.ceil(least / step); number * step <= most + step / 1e6; number++) ticks.push(number * step);
  return { ticks, step, at: (/** @type {number} */ value) => from + ((value - least) / span) * (to - from) };
}

/** Formats a tick with enough digits to distinguish two ticks. @param {number} tick @param {number} step */
function tickText(tick, step) {
  const text = short(tick);
  if (Math.abs(tick) < 1000 || text !== short(tick + step)) return text;
  return readable(String(Number(tick.toPrecision(12))));
}

/** The value range. It starts at zero unless the values would then fill only a thin stripe. @param {number[]} values @returns {[number, number]} */
function range(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least > most / 2 ? extent(values) : [Math.min(0, least), Math.max(0, most)];
}

/** @param {number[]} values @returns {[number, number]} */
function extent(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const air = (most - least || 1) * 0.05;
  return [least - air, most + air];
}

/** @param {(number | null)[]} values @param {(index: number) => number} x @param {(value: number) => number} y */
function pathOf(values, x, y) {
  let path = "";
  let pen = "M";
  values.forEach((value, index) => {
    if (value === null) {
      pen = "M";
      return;
    }
    path += `${pen} ${x(index)} ${y(value)} `;
    pen = "L";
  });
  return path;
}
