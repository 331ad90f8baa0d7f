// The boxes and lines of a plan as SVG, at the places that the layout has found.

import { s } from "./dom.js";
import { fitted } from "./labels.js";

export const WIDTH = 200;
export const INNER = WIDTH - 24;
export const HEIGHT = 74;
export const TABLE_WIDTH = 150;
export const TABLE_HEIGHT = 46;

/** @typedef {import("./graph.js").Stage} Stage */
/** @typedef {import("./graph.js").Edge} Edge */

/** @param {Edge} edge */
export function origin(edge) {
  return edge.from_table === null ? `stage ${edge.from_stage}` : `table ${edge.from_table}`;
}

/** @param {Edge} edge @param {[number, number][]} points */
export function lineOf(edge, points) {
  return s("g", { "data-edge": edge.id }, s("title"), s("path", { d: curve(points) }), arrow(points));
}

/** @param {[number, number][]} points */
function curve(points) {
  if (!points.length) return "";
  let path = `M ${points[0][0]} ${points[0][1]}`;
  for (let i = 1; i < points.length; i++) {
    const [x0, y0] = points[i - 1];
    const [x1, y1] = points[i];
    const half = (x1 - x0) / 2;
    path += ` C ${x0 + half} ${y0}, ${x1 - half} ${y1}, ${x1} ${y1}`;
  }
  return path;
}

/** @param {[number, number][]} points */
function arrow(points) {
  const [x, y] = points[points.length - 1] ?? [0, 0];
  return s("path.arrow", { d: `M ${x - 7} ${y - 4} L ${x} ${y} L ${x - 7} ${y + 4} Z` });
}

/** Empty if there is no space: then only the tooltip of the line shows the numbers.
 * @param {Edge} edge @param {[number, number] | undefined} at */
export function labelOf(edge, at) {
  const [x, y] = at ?? [0, 0];
  return s("g.edge-label", { "data-edge": edge.id }, at ? [s("title"),
    s("text", { x, y: y - 6, "text-anchor": "middle" }), s("text.backlog", { x, y: y + 13, "text-anchor": "middle" })] : []);
}

/** @param {string} table @param {import("./layout.js").Placed} box */
export function tableBox(table, box) {
  return s("g.table-box", { transform: `translate(${box.x} ${box.y})` },
    s("title", {}, `Table ${table}`),
    s("rect", { width: box.width, height: box.height, rx: box.height / 2 }),
    s("text", { x: box.width / 2, y: box.height / 2 + 4, "text-anchor": "middle" }, fitted(table, box.width - 24)));
}

/** @param {Stage} stage @param {import("./layout.js").Placed} box */
export function stageBox(stage, box) {
  return s("g", { "data-stage": stage.number, role: "button", tabindex: "-1", transform: `translate(${box.x} ${box.y})` },
    s("title"),
    s("rect.box", { width: WIDTH, height: HEIGHT, rx: 10 }),
    s("text.stage-name", { x: 12, y: 21 }, fitted(stage.name, INNER, "600 13px")),
    s("text.for", { x: 12, y: 37 }, fitted(`for ${stage.queries.join(", ")}`, INNER, "11px")),
    s("rect.idle-share", { x: 12, y: 45, width: INNER, height: 6, rx: 3 }),
    s("rect.busy-share", { x: 12, y: 45, width: 0, height: 6, rx: 3 }),
    s("rect.waiting-share", { x: 12, y: 45, width: 0, height: 6, rx: 3 }),
    s("text.share-text", { x: 12, y: 65 }));
}
