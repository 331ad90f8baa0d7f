// Chooses the chart of an answer: a pure function of the query's hint and of the rows.

import { instantOf, isDate, isPeriod } from "./chart_time.js";

const MIDNIGHT = /[T ]00:00:00(\.0+)?(Z|\+00:00)?$/;
export const MOST_BARS = 200;
const MOST_POINTS = 10_000;
const MOST_SERIES = 8;
/** Numbers whose sizes differ by more than this are not drawn along one axis, unless the person chooses them. */
const COMPARABLE = 20;

/**
 * @typedef {{kind: string, labels: string[], values: string[], x: string | null, y: string | null, series: string | null}} Hint
 * @typedef {{name: string, values: (number | null)[]}} Series
 * @typedef {{kind: "bars", labels: string[], series: Series[]}} Bars
 * @typedef {{kind: "line", x: string[], at: number[] | null, series: Series[], left: number}} Lines `at`: the times, if
 *   the axis is one of time
 * @typedef {{kind: "scatter", points: {x: number, y: number, label: string}[], x: string, y: string}} Scatter
 */

/** How many rows of an answer a chart shows at most. @param {Hint} hint */
export function limitOf(hint) {
  return hint.kind === "bars" ? MOST_BARS : MOST_POINTS;
}

/** The hint, corrected by the values: a column of texts that are all dates makes a line. @param {Hint} hint @param {string[]} columns @param {unknown[][]} rows @returns {Hint} */
export function recognised(hint, columns, rows) {
  const dates = (/** @type {string} */ name) => {
    const known = rows.map((row) => row[columns.indexOf(name)]).filter(isKnown);
    return known.length > 0 && known.every((value) => isTime(value));
  };
  const names = hint.series === null ? 0 : new Set(rows.map((row) => text(row[columns.indexOf(hint.series ?? "")]))).size;
  // Lines of one point each would show nothing.
  if (hint.kind === "line" && (hint.x === null || !dates(hint.x) || names === rows.length)) {
    return { ...hint, kind: "bars", labels: [...(hint.x === null ? [] : [hint.x]), ...hint.labels], x: null, series: null };
  }
  if (hint.kind !== "bars") return hint;
  const x = hint.labels.find((name) => dates(name) && rows.some((row) => String(row[columns.indexOf(name)]).length > 4));
  if (x === undefined) return hint;
  const labels = hint.labels.filter((name) => name !== x);
  const each = new Set(rows.map((row) => text(row[columns.indexOf(labels[0] ?? "")]))).size;
  if (labels.length && each === rows.length) return hint;
  return { ...hint, kind: "line", labels, x, series: labels[0] ?? null };
}

/** The numbers that are drawn if the person has chosen none. @param {Hint} hint @param {string[]} columns @param {unknown[][]} rows @returns {string[]} */
export function firstValues(hint, columns, rows) {
  if (hint.series !== null) return hint.values.slice(0, 1);
  const sizes = hint.values.map((name) => rows.reduce((most, row) => Math.max(most, Math.abs(Number(row[columns.indexOf(name)]) || 0)), 0));
  const near = (/** @type {number} */ size) => size > 0 && size <= sizes[0] * COMPARABLE && size >= sizes[0] / COMPARABLE;
  return hint.values.filter((_, index) => index === 0 || near(sizes[index])).slice(0, MOST_SERIES);
}

/**
 * @param {Hint | null} given
 * @param {string[]} columns
 * @param {unknown[][]} rows
 * @param {string[]} [picked] the columns to show, if the person has chosen some
 * @returns {Bars | Lines | Scatter | null} null where a table alone says it best
 */
export function choose(given, columns, rows, picked = []) {
  if (!given || rows.length < 2) return null;
  const at = (/** @type {string} */ name) => columns.indexOf(name);
  if (given.kind === "scatter") return scatter(given, at, rows);
  const hint = recognised(given, columns, rows);
  const known = picked.filter((name) => hint.values.includes(name));
  const shown = (known.length ? known : firstValues(hint, columns, rows)).filter((name) => at(name) >= 0);
  if (!shown.length) return null;
  return hint.kind === "line" ? lines(hint, at, rows, shown) : bars(hint, at, rows, shown);
}

/** @param {Hint} hint @param {(name: string) => number} at @param {unknown[][]} rows @param {string[]} values @returns {Bars | null} */
function bars(hint, at, rows, values) {
  const places = hint.labels.map(at).filter((index) => index >= 0);
  const drawn = rows.slice(0, MOST_BARS).filter((row) => values.some((name) => typeof row[at(name)] === "number"));
  if (drawn.length < 2 || !places.length) return null;
  return {
    kind: "bars",
    labels: drawn.map((row) => places.map((index) => text(row[index])).join(" · ")),
    series: values.map((name) => ({ name, values: drawn.map((row) => numberOf(row[at(name)])) })),
  };
}

/** Rows without a time are not drawn. @param {Hint} hint @param {(name: string) => number} at @param {unknown[][]} every @param {string[]} values @returns {Lines} */
function lines(hint, at, every, values) {
  const column = at(hint.x ?? "");
  const rows = every.filter((row) => isKnown(row[column]));
  const days = rows.every((row) => MIDNIGHT.test(String(row[column])));
  const moment = (/** @type {unknown[]} */ row) => String(row[column]).replace(days ? MIDNIGHT : "", "").replace("T", " ");
  const found = hint.series === null ? byValue(rows, values, moment, at) : bySeries(rows, values[0], moment, hint.series, at);
  const x = [...new Set(rows.map(moment))].sort();
  const times = x.map(instantOf);
  const largest = hint.series === null ? [...found] : [...found].sort((a, b) => sum(b[1]) - sum(a[1]));
  const series = largest.slice(0, MOST_SERIES).map(([name, each]) => ({ name, values: x.map((when) => each.get(when) ?? null) }));
  return { kind: "line", x, at: times.every((time) => time !== null) ? times : null, series, left: found.size - series.length };
}

/** @typedef {Map<string, Map<string, number>>} Found values by name and moment */

/** @param {unknown[][]} rows @param {string[]} values @param {(row: unknown[]) => string} moment @param {(name: string) => number} at @returns {Found} */
function byValue(rows, values, moment, at) {
  return new Map(values.map((name) => [name, new Map(rows.filter((row) => numberOf(row[at(name)]) !== null).map((row) => [moment(row), Number(row[at(name)])]))]));
}

/** @param {unknown[][]} rows @param {string} drawn @param {(row: unknown[]) => string} moment @param {string} series @param {(name: string) => number} at @returns {Found} */
function bySeries(rows, drawn, moment, series, at) {
  /** @type {Found} */
  const found = new Map();
  for (const row of rows) {
    const number = numberOf(row[at(drawn)]);
    if (number === null) continue;
    const value = row[at(series)];
    const name = typeof value === "boolean" ? `${series}: ${value}` : text(value);
    if (!found.has(name)) found.set(name, new Map());
    found.get(name)?.set(moment(row), number);
  }
  return found;
}

/** @param {Hint} hint @param {(name: string) => number} at @param {unknown[][]} rows @returns {Scatter | null} */
function scatter(hint, at, rows) {
  const [x, y] = [at(hint.x ?? ""), at(hint.y ?? "")];
  const points = rows.filter((row) => typeof row[x] === "number" && typeof row[y] === "number")
    .map((row) => ({ x: Number(row[x]), y: Number(row[y]), label: hint.labels.map((name) => text(row[at(name)])).join(" · ") }));
  return points.length > 1 ? { kind: "scatter", points, x: hint.x ?? "", y: hint.y ?? "" } : null;
}

/** @param {unknown} value */
function isTime(value) {
  return isDate(String(value)) || isPeriod(String(value));
}

/** @param {unknown} value */
function isKnown(value) {
  return value !== null && value !== undefined;
}

/** @param {unknown} value */
function numberOf(value) {
  return typeof value === "number" ? value : null;
}

/** @param {Map<string, number>} values */
function sum(values) {
  return [...values.values()].reduce((a, b) => a + b, 0);
}

/** @param {unknown} value */
function text(value) {
  return value === null || value === undefined ? "(none)" : Array.isArray(value) ? value.join("; ") : String(value);
}
