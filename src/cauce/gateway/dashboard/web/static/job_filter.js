// Filters the list of jobs by state, text, dataset, client and date, and pages it. Pure functions.

import { BROKEN, ENDED } from "./progress.js";

/** @typedef {import("./progress.js").Status} Status */
/** @typedef {{state: string, text: string, dataset: string, owner: string, from: string, to: string, page: number}} Filter
 *   `from` and `to` are days as in 2026-11-16, the last one included */

export const PAGE_JOBS = 25;
export const STATES = /** @type {[string, string, (state: string) => boolean][]} */ ([
  ["all", "All", () => true],
  ["active", "Active", (state) => !ENDED.has(state)],
  ["done", "Done", (state) => state === "done"],
  ["failed", "Failed", (state) => BROKEN.has(state)],
  ["cancelled", "Cancelled", (state) => state === "cancelled"],
  ["expired", "Expired", (state) => state === "expired"],
]);
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** @returns {Filter} */
export function noFilter() {
  return { state: "all", text: "", dataset: "", owner: "", from: "", to: "", page: 0 };
}

/** Newest first. @param {Iterable<Status>} jobs @param {Filter} filter */
export function matching(jobs, filter) {
  const fits = STATES.find(([name]) => name === filter.state)?.[2] ?? (() => true);
  return inAnyState(jobs, filter).filter((status) => fits(status.state)).sort((a, b) => b.created - a.created || (a.job < b.job ? -1 : 1));
}

/** How many jobs each filter by state would show. @param {Iterable<Status>} jobs @param {Filter} filter */
export function countsOf(jobs, filter) {
  const found = inAnyState(jobs, filter);
  return STATES.map(([, , fits]) => found.filter((status) => fits(status.state)).length);
}

/** The rows of a page and its number; the last page if the requested one does not exist. @param {Status[]} jobs @param {number} page */
export function pageOf(jobs, page) {
  const last = Math.max(0, Math.ceil(jobs.length / PAGE_JOBS) - 1);
  const number = Math.min(Math.max(page, 0), last);
  return { number, last, rows: jobs.slice(number * PAGE_JOBS, (number + 1) * PAGE_JOBS) };
}

/** The datasets or clients of the jobs, in order. @param {Iterable<Status>} jobs @param {(status: Status) => string} of */
export function choicesOf(jobs, of) {
  return [...new Set([...jobs].map(of).filter(Boolean))].sort();
}

/** The dataset that a job reads, declared or kept. @param {Status} status */
export function datasetOf(status) {
  return status.on || status.dataset;
}

/** Everything but the state. @param {Iterable<Status>} jobs @param {Filter} filter */
function inAnyState(jobs, filter) {
  const wanted = filter.text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const [from, to] = [startOf(filter.from, 0), startOf(filter.to, 1)];
  return [...jobs].filter((status) => {
    const said = [status.job, status.dataset, status.on, status.owner, ...status.queries].join("\n").toLowerCase();
    return wanted.every((word) => said.includes(word)) && (!filter.dataset || datasetOf(status) === filter.dataset) &&
      (!filter.owner || status.owner === filter.owner) && (from === null || status.created >= from) && (to === null || status.created < to);
  });
}

/** The start of a day in the time zone of this browser, in seconds since 1970. @param {string} day @param {number} after days */
function startOf(day, after) {
  if (!DAY.test(day)) return null;
  const [year, month, date] = day.split("-").map(Number);
  return new Date(year, month - 1, date + after).getTime() / 1000;
}

/** The filter as the query of an address: only what differs from none. @param {Filter} filter */
export function queryOf(filter) {
  const none = /** @type {Record<string, any>} */ (noFilter());
  const given = Object.entries(filter).filter(([name, value]) => value !== none[name] && name !== "page");
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

/** @param {string} query of an address @returns {Filter} */
export function filterOf(query) {
  const given = new URLSearchParams(query);
  const found = /** @type {Record<string, any>} */ (noFilter());
  for (const name of ["state", "text", "dataset", "owner", "from", "to"]) found[name] = given.get(name) ?? found[name];
  return /** @type {Filter} */ (found);
}
