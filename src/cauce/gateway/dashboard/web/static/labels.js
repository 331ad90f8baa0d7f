// Texts in pictures: how wide they are, shortened to fit, and placed so that none covers another.

const FONT = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, \"DejaVu Sans\", sans-serif";
const ALONG = [0.5, 0.38, 0.62, 0.26, 0.74];
const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/** @typedef {{x: number, y: number, width: number, height: number}} Rect */

/** @param {string} text @param {string} [style] as in "bold 13px" */
export function widthOf(text, style) {
  context.font = style ? FONT.replace("12px", style) : FONT;
  return context.measureText(text).width;
}

/** The text, or as much of its beginning as fits, with an ellipsis. @param {string} text @param {number} width @param {string} [style] */
export function fitted(text, width, style) {
  if (widthOf(text, style) <= width) return text;
  const letters = [...text];
  let [least, most] = [0, letters.length];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (widthOf(`${letters.slice(0, middle).join("")}…`, style) <= width) least = middle;
    else most = middle - 1;
  }
  return `${letters.slice(0, least).join("")}…`;
}

/**
 * The middle of a label for each path, on the path, where it covers no box and no other label. A path without such a
 * place is left out: its label is shown as a tooltip only.
 * @param {Map<string, [number, number][]>} paths @param {Rect[]} boxes @param {{width: number, height: number}} size
 * @returns {Map<string, [number, number]>}
 */
export function placed(paths, boxes, size) {
  /** @type {Rect[]} */
  const taken = [...boxes];
  /** @type {Map<string, [number, number]>} */
  const found = new Map();
  for (const [id, points] of paths) {
    const free = places(points).find(([x, y]) => !taken.some((each) => overlap(each, around(x, y, size))));
    if (!free) continue;
    taken.push(around(free[0], free[1], size));
    found.set(id, free);
  }
  return found;
}

/** Points on a path, those near its end first. @param {[number, number][]} points @returns {[number, number][]} */
function places(points) {
  /** @type {[number, number][]} */
  const found = [];
  for (let i = points.length - 1; i > 0; i--) found.push(...ALONG.map((share) => pointOn(points[i - 1], points[i], share)));
  return found;
}

/** On the curve that is drawn between two points. @param {[number, number]} from @param {[number, number]} to @param {number} share @returns {[number, number]} */
function pointOn([x0, y0], [x1, y1], share) {
  const rest = 1 - share;
  const along = 1.5 * rest * share + share ** 3;
  return [x0 + (x1 - x0) * along, y0 + (y1 - y0) * (3 * rest * share ** 2 + share ** 3)];
}

/** @param {number} x @param {number} y @param {{width: number, height: number}} size @returns {Rect} */
function around(x, y, { width, height }) {
  return { x: x - width / 2, y: y - height / 2, width, height };
}

/** @param {Rect} one @param {Rect} other */
export function overlap(one, other) {
  return one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;
}
