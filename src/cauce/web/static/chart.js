// Draws the chart that was chosen, as SVG. Colours come from the style sheet.

import { h, s } from "./dom.js";
import { short } from "./format.js";

const BAR = 24;
const WIDTH = 640;
const LABEL = 210;
const LABEL_LETTERS = 28;

/** @param {import("./chart_choice.js").Bars | import("./chart_choice.js").Lines | import("./chart_choice.js").Scatter} chart */
export function draw(chart) {
  if (chart.kind === "bars") return bars(chart);
  return chart.kind === "line" ? lines(chart) : scatter(chart);
}

/** @param {import("./chart_choice.js").Bars} chart */
function bars(chart) {
  const least = Math.min(0, ...chart.bars.map((bar) => bar.value));
  const most = Math.max(0, ...chart.bars.map((bar) => bar.value));
  const scale = (/** @type {number} */ value) => ((value - least) / (most - least || 1)) * (WIDTH - LABEL - 70);
  const rows = chart.bars.map((bar, index) => {
    const [from, to] = [scale(Math.min(0, bar.value)), scale(Math.max(0, bar.value))];
    return s("g.bar", { transform: `translate(0 ${index * BAR})` },
      s("title", {}, `${bar.label}: ${bar.value}`),
      s("text.label", { x: LABEL - 8, y: 16, "text-anchor": "end" }, cut(bar.label)),
      s("rect", { x: LABEL + from, y: 4, width: Math.max(to - from, 1), height: BAR - 8, rx: 3 }),
      s("text.value", { x: LABEL + to + 6, y: 16 }, short(bar.value)));
  });
  return figure(`Bars: ${chart.value}`, WIDTH, chart.bars.length * BAR, rows);
}

/** @param {import("./chart_choice.js").Lines} chart */
function lines(chart) {
  const height = 260;
  const box = { left: 58, right: WIDTH - 12, top: 12, bottom: height - 34 };
  const all = chart.series.flatMap((one) => one.values.filter((value) => value !== null));
  const y = scaleOf(...range(all), box.bottom, box.top);
  const x = (/** @type {number} */ index) =>
    chart.x.length === 1 ? (box.left + box.right) / 2 : box.left + (index / (chart.x.length - 1)) * (box.right - box.left);
  const every = Math.ceil(chart.x.length / 8);
  const marks = [
    ...y.ticks.map((tick) => s("g.grid", {},
      s("line", { x1: box.left, x2: box.right, y1: y.at(tick), y2: y.at(tick) }),
      s("text.value", { x: box.left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, short(tick)))),
    ...chart.x.map((name, index) => (index % every ? null :
      s("text.label", { x: x(index), y: height - 14, "text-anchor": anchor(index, chart.x.length) }, name))),
  ];
  const drawn = chart.series.map((one, number) => s(`g.series.colour-${number}`, {}, s("title", {}, one.name),
    s("path", { d: pathOf(one.values, x, y.at) }),
    one.values.map((value, index) => (value === null ? null :
      s("circle", { cx: x(index), cy: y.at(value), r: 3 }, s("title", {}, `${one.name}, ${chart.x[index]}: ${value}`))))));
  const picture = figure(`Lines: ${chart.value} by ${chart.x[0]} to ${chart.x[chart.x.length - 1]}`, WIDTH, height, [...marks, ...drawn]);
  return h("div", {}, picture, legend(chart));
}

/** @param {import("./chart_choice.js").Lines} chart */
function legend(chart) {
  const keys = chart.series.map((one, number) => h("li", {}, h(`span.key.colour-${number}`), one.name));
  const left = chart.left ? h("li.quiet", {}, `and ${chart.left} more, not drawn`) : null;
  return h("ul.legend", {}, keys, left);
}

/** @param {import("./chart_choice.js").Scatter} chart */
function scatter(chart) {
  const height = 360;
  const box = { left: 52, right: WIDTH - 12, top: 12, bottom: height - 36 };
  const x = scaleOf(...extent(chart.points.map((point) => point.x)), box.left, box.right);
  const y = scaleOf(...extent(chart.points.map((point) => point.y)), box.bottom, box.top);
  const marks = [
    ...x.ticks.map((tick) => s("g.grid", {}, s("line", { x1: x.at(tick), x2: x.at(tick), y1: box.top, y2: box.bottom }),
      s("text.label", { x: x.at(tick), y: height - 16, "text-anchor": "middle" }, short(tick)))),
    ...y.ticks.map((tick) => s("g.grid", {}, s("line", { x1: box.left, x2: box.right, y1: y.at(tick), y2: y.at(tick) }),
      s("text.value", { x: box.left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, short(tick)))),
    ...chart.points.map((point) => s("g.series.colour-0", {},
      s("circle", { cx: x.at(point.x), cy: y.at(point.y), r: 4 }, s("title", {}, `${point.label}: ${point.x}, ${point.y}`)))),
  ];
  return figure(`Scatter: ${chart.x} and ${chart.y}`, WIDTH, height, marks);
}

/** @param {string} said @param {number} width @param {number} height @param {any[]} children */
function figure(said, width, height, children) {
  return s("svg.chart", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said }, children);
}

/** A linear scale with round ticks. @param {number} least @param {number} most @param {number} from @param {number} to */
export function scaleOf(least, most, from, to) {
  const span = most - least || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  const ticks = [];
  for (let tick = Math.ceil(least / step) * step; tick <= most + step / 1e6; tick += step) ticks.push(tick);
  return { ticks, at: (/** @type {number} */ value) => from + ((value - least) / span) * (to - from) };
}

/** From nought on, unless what there is to see would then be a thin stripe. @param {number[]} values @returns {[number, number]} */
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

/** @param {number} index @param {number} length */
function anchor(index, length) {
  return index === 0 ? "start" : index === length - 1 ? "end" : "middle";
}

/** @param {string} text */
function cut(text) {
  return text.length <= LABEL_LETTERS ? text : `${text.slice(0, LABEL_LETTERS - 1)}…`;
}
