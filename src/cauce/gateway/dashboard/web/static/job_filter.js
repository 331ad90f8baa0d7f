// Filters the list of jobs by state and text, and pages it. Pure functions.

import { BROKEN, ENDED } from "./progress.js";

/** @typedef {import("./progress.js").Status} Status */
/** @typedef {{state: string, text: string, page: number}} Filter */

export const PAGE_JOBS = 25;
export const STATES = /** @type {[string, string, (state: string) => boolean][]} */ ([
  ["all", "All", () => true],
  ["active", "Active", (state) => !ENDED.has(state)],
  ["done", "Done", (state) => state === "done"],
  ["failed", "Failed", (state) => BROKEN.has(state)],
  ["cancelled", "Cancelled", (state) => state === "cancelled"],
  ["expired", "Expired", (state) => state === "expired"],
]);

/** Newest first. @param {Iterable<Status>} jobs @param {Filter} filter */
export function matching(jobs, filter) {
  const fits = STATES.find(([name]) => name === filter.state)?.[2] ?? (() => true);
  return [...withText(jobs, filter.text)].filter((status) => fits(status.state)).sort((a, b) => b.created - a.created || (a.job < b.job ? -1 : 1));
}

/** How many jobs each filter by state would show. @param {Iterable<Status>} jobs @param {string} text */
export function countsOf(jobs, text) {
  const found = withText(jobs, text);
  return STATES.map(([, , fits]) => found.filter((status) => fits(status.state)).length);
}

/** The rows of a page and its number; the last page if the requested one does not exist. @param {Status[]} jobs @param {number} page */
export function pageOf(jobs, page) {
  const last = Math.max(0, Math.ceil(jobs.length / PAGE_JOBS) - 1);
  const number = Math.min(Math.max(page, 0), last);
  return { number, last, rows: jobs.slice(number * PAGE_JOBS, (number + 1) * PAGE_JOBS) };
}

/** @param {Iterable<Status>} jobs @param {string} text */
function withText(jobs, text) {
  const wanted = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  return [...jobs].filter((status) => {
    const said = [status.job, status.dataset, status.on, status.owner, ...status.queries].join("\n").toLowerCase();
    return wanted.every((word) => said.includes(word));
  });
}
