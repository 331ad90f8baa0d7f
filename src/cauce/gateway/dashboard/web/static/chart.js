// Draws the chart that was chosen, as SVG. Colours come from the style sheet.

import { hovering } from "./chart_hover.js";
import { extent, range, scaleOf, tickText } from "./chart_scale.js";
import { timeTicks } from "./chart_time.js";
import { h, s } from "./dom.js";
import { short } from "./format.js";
import { fitted, widthOf } from "./labels.js";
import { readable } from "./numbers.js";

const BAR = 16;
const BAR_GAP = 8;
const WIDEST = 1600;
const NARROWEST = 280;
const AIR = 18;
/** Points are drawn one by one only while they can be told apart. */
const FEW_POINTS = 240;

/**
 * @typedef {import("./chart_choice.js").Bars | import("./chart_choice.js").Lines | import("./chart_choice.js").Scatter} Chart
 * @param {Chart} chart
 * @param {number} room in pixels: texts keep their size whatever the width
 */
export function draw(chart, room) {
  const width = Math.min(WIDEST, Math.max(NARROWEST, room || 640));
  if (chart.kind === "bars") return bars(chart, width);
  return chart.kind === "line" ? lines(chart, width) : scatter(chart, width);
}

/** @param {import("./chart_choice.js").Bars} chart @param {number} width */
function bars(chart, width) {
  const label = Math.min(width * 0.4, 12 + Math.max(...chart.labels.map((text) => widthOf(text))));
  const many = chart.series.length;
  const each = many > 1 ? 12 : BAR;
  const pitch = many * each + BAR_GAP;
  const values = chart.series.flatMap((one) => one.values.filter((value) => value !== null));
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
  const scale = (/** @type {number} */ value) => ((value - least) / (most - least || 1)) * (width - label - 64);
  const rows = chart.labels.map((name, index) => s("g.bar", { transform: `translate(0 ${index * pitch})` },
    s("title", {}, `${name}: ${chart.series.map((one) => `${many > 1 ? `${one.name} ` : ""}${valueText(one.values[index])}`).join(", ")}`),
    s("text.label", { x: label - 8, y: (pitch - BAR_GAP) / 2 + 8, "text-anchor": "end" }, fitted(name, label - 10)),
    chart.series.map((one, number) => {
      const value = one.values[index] ?? 0;
      const [from, to] = [scale(Math.min(0, value)), scale(Math.max(0, value))];
      const y = number * each + 4;
      return s(`g.colour-${number}`, {}, s("rect", { x: label + from, y, width: Math.max(to - from, 1), height: each - (many > 1 ? 2 : 0), rx: 2 }),
        s("text.value", { x: label + to + 6, y: y + each / 2 + 3 }, one.values[index] === null ? "" : short(value)));
    })));
  const name = chart.series.map((one) => one.name).join(", ");
  const picture = figure(`Bars: ${name}`, width, chart.labels.length * pitch + 4, rows);
  return h("div", {}, many > 1 ? legend(chart.series, 0) : null,
    h("div.tall", { tabindex: "0", role: "region", "aria-label": `Chart of ${name}` }, picture));
}

/** @param {number | null} value */
function valueText(value) {
  return value === null ? "none" : readable(String(value));
}

/** @param {import("./chart_choice.js").Lines} chart @param {number} width */
function lines(chart, width) {
  const height = width < 500 ? 220 : 280;
  const all = chart.series.flatMap((one) => one.values.filter((value) => value !== null));
  const y = scaleOf(...range(all.length ? all : [0]), height - 30, 10);
  const values = y.ticks.map((tick) => tickText(tick, y.step));
  const box = { left: 10 + Math.max(...values.map((text) => widthOf(text))), right: width - 16, top: 10, bottom: height - 30 };
  const x = positionsOf(chart, box);
  const marks = [
    ...y.ticks.map((tick, index) => s("g.grid", {},
      s("line", { x1: box.left, x2: box.right, y1: y.at(tick), y2: y.at(tick) }),
      s("text.value", { x: box.left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, values[index]))),
    ...labelsOf(chart, x, box).map(({ at, label }) => s("text.label.x-label", { x: at, y: height - 10, "text-anchor": "middle" }, label)),
  ];
  const points = (/** @type {(number | null)[]} */ values) => all.length <= FEW_POINTS || values.filter((value) => value !== null).length < 2;
  const drawn = chart.series.map((one, number) => s(`g.series.colour-${number}`, {},
    s("path", { d: pathOf(one.values, x, y.at) }),
    points(one.values) ? one.values.map((value, index) => (value === null ? null : s("circle", { cx: x[index], cy: y.at(value), r: 2.5 }))) : null));
  const names = chart.series.map((one) => one.name).join(", ");
  const picture = figure(`Lines: ${names} by ${chart.x[0]} to ${chart.x[chart.x.length - 1]}`, width, height, [...marks, ...drawn]);
  return h("div", {}, legend(chart.series, chart.left), hovering(picture, chart, x, y.at, box));
}

/** Where each moment is: by time, or evenly. @param {import("./chart_choice.js").Lines} chart @param {{left: number, right: number}} box @returns {number[]} */
function positionsOf({ x, at }, { left, right }) {
  const [first, last] = at ? [at[0], at[at.length - 1]] : [0, x.length - 1];
  if (first === last) return x.map(() => (left + right) / 2);
  return x.map((_, index) => left + (((at ? at[index] : index) - first) / (last - first)) * (right - left));
}

/** Labels of the axis, within the picture and apart from each other. @param {import("./chart_choice.js").Lines} chart @param {number[]} x @param {{left: number, right: number}} box */
function labelsOf(chart, x, { left, right }) {
  const within = (/** @type {{at: number, label: string}} */ { at, label }) => {
    const half = widthOf(label) / 2;
    return { at: Math.max(half, Math.min(at, right + 14 - half)), label, half };
  };
  let free = -Infinity;
  const apart = (/** @type {{at: number, half: number}} */ { at, half }) => {
    if (at - half < free) return false;
    free = at + half + AIR;
    return true;
  };
  if (!chart.at || chart.at.length <= 12) return x.map((at, index) => within({ at, label: chart.x[index] })).filter(apart);
  const [first, last] = [chart.at[0], chart.at[chart.at.length - 1]];
  const place = (/** @type {number} */ at) => left + ((at - first) / (last - first)) * (right - left);
  return timeTicks(first, last, (right - left) / 90).map(({ at, label }) => within({ at: place(at), label })).filter(apart);
}

/** @param {import("./chart_choice.js").Series[]} series @param {number} left */
function legend(series, left) {
  const keys = series.map((one, number) => h("li", {}, h(`span.key.colour-${number}`), one.name));
  return h("ul.legend.chart-legend", {}, keys, left ? h("li.quiet", {}, `and ${left} more that are not shown`) : null);
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
  return s("svg.chart", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, children);
}

/** A line through all its points: a series need not have a row for every moment. @param {(number | null)[]} values @param {number[]} x @param {(value: number) => number} y */
function pathOf(values, x, y) {
  const points = values.flatMap((value, index) => (value === null ? [] : [`${x[index].toFixed(1)} ${y(value).toFixed(1)}`]));
  return points.length ? `M ${points.join(" L ")}` : "";
}
