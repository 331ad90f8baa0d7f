// Parses pages of answers without rounding numbers, as JSON.parse alone would. Pure functions.

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/**
 * @typedef {{n: string}} Exact a number as it was written
 * @typedef {Exact | string | boolean | null | Cell[]} Cell
 * @typedef {{columns: string[], rows: Cell[][], next: string | null, complete: boolean, total: number,
 *   chart: import("./chart_choice.js").Hint | null}} Page
 */

/** @param {string} text @returns {Page} */
export function parsePage(text) {
  const found = JSON.parse(text.replace(TOKENS, (token) => (token[0] === '"' ? token : `{"n":"${token}"}`)));
  return { ...found, total: Number(found.total.n) };
}

/** @param {Cell} cell @returns {cell is Exact} */
export function isNumber(cell) {
  return typeof cell === "object" && cell !== null && !Array.isArray(cell);
}

/** The cell as written in the answer. @param {Cell} cell @returns {string} */
export function shown(cell) {
  if (cell === null) return "";
  if (isNumber(cell)) return cell.n;
  return Array.isArray(cell) ? cell.map(shown).join("; ") : String(cell);
}

/** The cell for a chart, where the nearest double is exact enough. @param {Cell} cell */
export function rounded(cell) {
  return isNumber(cell) ? Number(cell.n) : cell;
}
