// Chooses the chart of an answer: a pure function of the query's hint and of the rows shown.

const PERIOD = /^\d{4}([-/ ](\d{1,2}|[HSQW]\d{1,2})([-/]\d{1,2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[-+]\d{2}:?\d{2})?)?)?)?$/i;
const MIDNIGHT = /[T ]00:00:00(Z|\+00:00)?$/;
export const MOST_BARS = 200;
const MOST_POINTS = 2000;
const MOST_SERIES = 8;

/**
 * @typedef {{kind: string, labels: string[], values: string[], x: string | null, y: string | null, series: string | null}} Hint
 * @typedef {{kind: "bars", bars: {label: string, value: number}[], value: string}} Bars
 * @typedef {{kind: "line", x: string[], series: {name: string, values: (number | null)[]}[], left: number, value: string}} Lines
 * @typedef {{kind: "scatter", points: {x: number, y: number, label: string}[], x: string, y: string}} Scatter
 */

/** How many rows of an answer a chart shows at most. @param {Hint} hint */
export function limitOf(hint) {
  return hint.kind === "bars" ? MOST_BARS : MOST_POINTS;
}

/**
 * @param {Hint | null} hint
 * @param {string[]} columns
 * @param {unknown[][]} rows
 * @param {string} [value] the column to show, if the person has chosen one
 * @returns {Bars | Lines | Scatter | null} null where a table alone says it best
 */
export function choose(hint, columns, rows, value) {
  if (!hint || rows.length < 2) return null;
  const at = (/** @type {string} */ name) => columns.indexOf(name);
  if (hint.kind === "scatter" && hint.x !== null && hint.y !== null) return scatter(hint, at, rows);
  const shown = value && hint.values.includes(value) ? value : hint.values[0];
  if (shown === undefined || at(shown) < 0) return null;
  if (hint.kind === "line" && hint.x !== null && rows.every((row) => PERIOD.test(String(row[at(hint.x ?? "")])))) {
    return lines(hint, at, rows, shown);
  }
  return bars(hint, at, rows, shown);
}

/** @param {Hint} hint @param {(name: string) => number} at @param {unknown[][]} rows @param {string} value */
function bars(hint, at, rows, value) {
  const names = hint.kind === "line" && hint.x !== null ? [hint.x, ...hint.labels] : hint.labels;
  const places = names.map(at).filter((index) => index >= 0);
  const made = rows.slice(0, MOST_BARS)
    .filter((row) => typeof row[at(value)] === "number")
    .map((row) => ({ label: places.map((index) => text(row[index])).join(" · "), value: Number(row[at(value)]) }));
  return made.length > 1 && places.length ? /** @type {Bars} */ ({ kind: "bars", bars: made, value }) : null;
}

/** @param {Hint} hint @param {(name: string) => number} at @param {unknown[][]} rows @param {string} value @returns {Lines} */
function lines(hint, at, rows, value) {
  const days = rows.every((row) => MIDNIGHT.test(String(row[at(hint.x ?? "")])));
  const moment = (/** @type {unknown[]} */ row) => String(row[at(hint.x ?? "")]).replace(days ? MIDNIGHT : "", "");
  const x = [...new Set(rows.map(moment))].sort();
  /** @type {Map<string, Map<string, number>>} */
  const found = new Map();
  for (const row of rows) {
    const name = hint.series === null ? value : text(row[at(hint.series)]);
    if (typeof row[at(value)] !== "number") continue;
    if (!found.has(name)) found.set(name, new Map());
    found.get(name)?.set(moment(row), Number(row[at(value)]));
  }
  const largest = [...found].sort((a, b) => sum(b[1]) - sum(a[1])).slice(0, MOST_SERIES);
  const series = largest.map(([name, values]) => ({ name, values: x.map((each) => values.get(each) ?? null) }));
  return { kind: "line", x, series, left: found.size - largest.length, value };
}

/** @param {Hint} hint @param {(name: string) => number} at @param {unknown[][]} rows @returns {Scatter | null} */
function scatter(hint, at, rows) {
  const [x, y] = [at(hint.x ?? ""), at(hint.y ?? "")];
  const points = rows.filter((row) => typeof row[x] === "number" && typeof row[y] === "number")
    .map((row) => ({ x: Number(row[x]), y: Number(row[y]), label: hint.labels.map((name) => text(row[at(name)])).join(" · ") }));
  return points.length > 1 ? { kind: "scatter", points, x: hint.x ?? "", y: hint.y ?? "" } : null;
}

/** @param {Map<string, number>} values */
function sum(values) {
  return [...values.values()].reduce((a, b) => a + b, 0);
}

/** @param {unknown} value */
function text(value) {
  return value === null || value === undefined ? "(none)" : Array.isArray(value) ? value.join("; ") : String(value);
}
