// A job's timeline: how busy each stage was, and its events.

import { h, s } from "./dom.js";
import { clock, duration, percent } from "./format.js";
import { fitted } from "./labels.js";

const LANE = 22;
const LABEL = 200;
const WIDTH = 960;
const TOP = 26;

/**
 * @typedef {{at: number, what: string, about: string}} TimelineEvent
 * @typedef {{start: number, end: number, busy: number[][]}} History
 */

/**
 * @param {{name: string}[]} stages
 * @param {History} history
 * @param {TimelineEvent[]} events
 * @returns {Element}
 */
export function timeline(stages, history, events) {
  const from = Math.min(history.start, ...events.map((each) => each.at));
  const to = Math.max(history.end, from + 1, ...events.map((each) => each.at));
  const x = (/** @type {number} */ at) => LABEL + ((at - from) / (to - from)) * (WIDTH - LABEL - 10);
  const bottom = TOP + stages.length * LANE;
  const lanes = stages.map((stage, index) => lane(stage.name, history, history.busy[index] ?? [], index, x));
  const marks = events.map((each) => s("g.mark", { class: `mark ${each.what}` },
    s("title", {}, `${clock(each.at)}  ${each.what} ${each.about}`),
    s("line", { x1: x(each.at), x2: x(each.at), y1: TOP - 6, y2: bottom }),
    s("circle", { cx: x(each.at), cy: TOP - 8, r: 4 })));
  const ends = s("g.axis", {},
    s("text", { x: LABEL, y: bottom + 16 }, clock(from)),
    s("text", { x: WIDTH - 10, y: bottom + 16, "text-anchor": "end" }, `${clock(to)}, ${duration(to - from)} later`));
  return s("svg.timeline", { viewBox: `0 0 ${WIDTH} ${bottom + 24}`, role: "img",
    "aria-label": "When each stage was busy" }, lanes, marks, ends);
}

/** @param {string} name @param {History} history @param {number[]} shares @param {number} index @param {(at: number) => number} x */
function lane(name, history, shares, index, x) {
  const y = TOP + index * LANE;
  const step = (history.end - history.start) / Math.max(shares.length, 1);
  const cells = shares.map((share, number) => {
    if (share < 0.005) return null;
    const start = x(history.start + number * step);
    const width = Math.max(1, x(history.start + (number + 1) * step) - start);
    return s("rect.cell", { x: start, y: y + 3, width, height: LANE - 6, "fill-opacity": 0.25 + 0.75 * Math.min(1, share) },
      s("title", {}, `${name}: busy ${percent(share)} at ${clock(history.start + number * step)}`));
  });
  return s("g.lane", {}, s("title", {}, name),
    s("rect.ground", { x: LABEL, y: y + 3, width: WIDTH - LABEL - 10, height: LANE - 6, rx: 3 }),
    s("text", { x: LABEL - 8, y: y + 15, "text-anchor": "end" }, fitted(name, LABEL - 12)), cells);
}

/** @param {TimelineEvent[]} events */
export function list(events) {
  const lines = events.map((each) =>
    h("li", {}, h("time.quiet", {}, clock(each.at)), h(`span.dot.${each.what.replace(/\W/g, "-")}`), `${each.what} ${each.about}`));
  return h("ol.events", {}, lines);
}
