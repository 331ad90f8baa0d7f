// Draws a timeline of every process, with marks for crashes, detections, restarts and recovery.

import { h, s } from "./dom.js";
import { clock, duration } from "./format.js";
import { workOf } from "./lives.js";

const LANE = 26;
const MARGINS = { wide: { left: 120, right: 52, steps: 5 }, narrow: { left: 74, right: 8, steps: 2 } };
const NARROW = 560;
const LEAST_WIDTH = 280;
const TOP = 10;
const APART = 12;
const SHAPES = /** @type {Record<string, string>} */ ({
  crashed: "M -5 -5 L 5 5 M -5 5 L 5 -5",
  detected: "M 0 -6 L 6 0 L 0 6 L -6 0 Z",
  restarted: "M -5 5 L 0 -5 L 5 5 Z",
  started: "M -5 5 L 0 -5 L 5 5 Z",
  recovered: "M -5 0 L -1 5 L 6 -5",
  elected: "M 0 -7 L 2 -2 L 7 -2 L 3 1 L 5 6 L 0 3 L -5 6 L -3 1 L -7 -2 L -2 -2 Z",
});

/**
 * @param {import("./lives.js").Lane[]} lanes @param {number} from @param {number} to @param {number} room in pixels
 * @returns {Element}
 */
export function drawLanes(lanes, from, to, room) {
  const width = Math.max(room, LEAST_WIDTH);
  const { left, right, steps } = width < NARROW ? MARGINS.narrow : MARGINS.wide;
  const x = (/** @type {number} */ at) => left + ((Math.min(Math.max(at, from), to) - from) / (to - from)) * (width - left - right);
  const bottom = TOP + lanes.length * LANE;
  const rows = lanes.map((lane, index) => row(lane, TOP + index * LANE, x, from, to));
  return s("svg.lanes", { viewBox: `0 0 ${width} ${bottom + 24}`, width, height: bottom + 24, role: "img",
    "aria-label": `${lanes.length} processes over the last ${duration(to - from)}` }, axis(from, to, bottom, x, steps), rows);
}

/** @param {import("./lives.js").Lane} lane @param {number} y @param {(at: number) => number} x @param {number} from @param {number} to */
function row(lane, y, x, from, to) {
  const middle = y + LANE / 2;
  const bar = (/** @type {import("./lives.js").Life} */ life, /** @type {string} */ kind, /** @type {number} */ height) => {
    if ((life.to ?? to) < from) return null;
    const start = x(life.from);
    return s(`rect.${kind}`, { x: start, y: middle - height / 2, width: Math.max(1, x(life.to ?? to) - start), height, rx: 3 },
      s("title", {}, `${lane.name}, ${kind === "term" ? "leading" : "alive"} since ${clock(life.from)}`));
  };
  return s("g.process", { "data-lane": lane.name },
    s("rect.ground", { x: x(from), y: middle - 7, width: x(to) - x(from), height: 14, rx: 3 }),
    s("text", { x: x(from) - 10, y: middle + 4, "text-anchor": "end" }, lane.name),
    lane.lives.map((life) => bar(life, "alive", 14)), lane.terms.map((life) => bar(life, "term", 4)),
    signs(lane.marks.filter((mark) => mark.at >= from && SHAPES[mark.what]), middle, x));
}

/** Spreads marks that are close in time side by side, in order. @param {import("./lives.js").Happened[]} marks @param {number} y @param {(at: number) => number} x */
function signs(marks, y, x) {
  let last = -Infinity;
  return marks.map((mark) => {
    last = Math.max(x(mark.at), last + APART);
    return s("g", { class: `sign ${mark.what.replace(" ", "-")}`, transform: `translate(${last} ${y})` },
      s("title", {}, words(mark)), s("path", { d: SHAPES[mark.what] }));
  });
}

/** @param {number} from @param {number} to @param {number} bottom @param {(at: number) => number} x @param {number} steps */
function axis(from, to, bottom, x, steps) {
  return s("g.axis", {}, Array.from({ length: steps + 1 }, (_, index) => {
    const at = from + ((to - from) * index) / steps;
    const anchor = index === 0 ? "start" : index === steps ? "end" : "middle";
    return s("g.grid", {}, s("line", { x1: x(at), x2: x(at), y1: TOP, y2: bottom }),
      s("text", { x: x(at), y: bottom + 16, "text-anchor": anchor }, index === steps ? "now" : clock(at)));
  }));
}

/** @param {import("./lives.js").Happened} event */
export function words(event) {
  const after = event.after_s === null || event.after_s === undefined ? "" : ` after ${duration(event.after_s)}`;
  const work = workOf(event);
  const detail = event.reason && work ? `${event.reason}; it held ${work}` : event.reason || work;
  return `${clock(event.at)} ${event.name} ${event.what}${after}${detail ? `: ${detail}` : ""}`;
}

export function legend() {
  const kinds = [["crashed", "crashed"], ["detected", "crash detected"], ["restarted", "restarted"], ["recovered", "working again"],
    ["elected", "elected; the line marks the leader"]];
  return h("ul.legend", {}, kinds.map(([kind, text]) => h("li", {},
    s("svg.sign-key", { viewBox: "-8 -8 16 16", width: 15, height: 15, "aria-hidden": "true" },
      s("g", { class: `sign ${kind}` }, s("path", { d: SHAPES[kind.replace("-", " ")] }))), text)));
}
