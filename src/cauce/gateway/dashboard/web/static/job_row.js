// One row of the list of jobs: state, progress and start time.

import { now } from "./api.js";
import { breakable, h, say, set } from "./dom.js";
import { ago, bytes, count, duration, moment, percent, plural } from "./format.js";
import { BROKEN, ENDED, isSql, progressOf } from "./progress.js";

/** @typedef {import("./progress.js").Status} Status */

/** @param {Status} status @param {boolean} own whether its page can be opened @param {() => void} toggled */
export function makeRow(status, own, toggled) {
  const box = h("input", { type: "checkbox", "aria-label": `Choose job ${status.job}`, onchange: toggled });
  const queries = status.queries.join(", ");
  const link = own ? h("a.job-link", { href: `#/job/${encodeURIComponent(status.job)}` }, breakable(status.job)) :
    h("span.job-link", { title: `A job of ${status.owner}, who alone can open it` }, breakable(status.job));
  return h("tr", { class: own ? null : "other" }, h("td", {}, box), h("th", { scope: "row" }, link), h("td", {}, h("span.state")),
    h("td", {}, h("div.clamped", { title: datasetWords(status) }, breakable(datasetWords(status))), h("div.quiet.small.clamped", { title: queries }, breakable(queries))),
    h("td"), h("td", {}, meterOf()), h("td"),
    h("td", {}, h("time"), h("div.quiet.small")));
}

/** @param {Element} row @param {Status} status @param {boolean} chosen @param {boolean} open whether it can be ended @param {number | null} left seconds */
export function fillRow(row, status, chosen, open, left) {
  const [choice, , state, , owner, progress, time, started] = row.children;
  const box = /** @type {HTMLInputElement} */ (choice.firstElementChild);
  box.checked = chosen;
  set(box, "disabled", !open);
  const pill = /** @type {Element} */ (state.firstElementChild);
  set(pill, "class", `state ${status.state}`);
  say(pill, status.state);
  set(pill, "title", status.cause || null);
  say(owner, status.owner);
  fillProgress(progress, status);
  say(time, timeWords(status, left));
  // Unknown for a damaged job.
  if (status.created) {
    fillTime(started.children[0], status.created);
    say(started.children[1], ago(now() - status.created));
  }
  row.classList.toggle("chosen", chosen);
}

/** The declared dataset, the kept one, or both. @param {Status} status */
export function datasetWords(status) {
  if (!status.on) return status.dataset;
  return isSql(status) ? status.on : `${status.dataset} on ${status.on}`;
}

/** @param {Element} element a time @param {number} at */
export function fillTime(element, at) {
  set(element, "datetime", new Date(at * 1000).toISOString());
  set(element, "title", new Date(at * 1000).toString());
  say(element, moment(at));
}

/** A bar and its words. @returns {Element[]} */
export function meterOf() {
  return [h("div.meter", { role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, h("div.level")), h("div.quiet.small.clamped")];
}

/** @param {Element} place that has a meter @param {Status} status */
export function fillProgress(place, status) {
  const [bar, words] = place.children;
  const share = progressOf(status).share;
  const level = /** @type {HTMLElement} */ (bar.firstElementChild);
  set(bar, "class", `meter ${status.state} ${share === null && !ENDED.has(status.state) ? "open" : ""}`);
  set(bar, "aria-label", `Progress of ${status.job}`);
  set(bar, "aria-valuenow", share === null ? null : Math.round(share * 100));
  set(bar, "aria-valuetext", share === null ? "not known yet" : percent(share));
  level.style.width = `${(share ?? 0) * 100}%`;
  say(words, progressWords(status));
  words.classList.toggle("error", BROKEN.has(status.state));
  set(words, "title", progressWords(status));
}

/** @param {Status} status */
function progressWords(status) {
  const progress = progressOf(status);
  if (BROKEN.has(status.state) || !Object.keys(status.tables).length) return status.cause;
  const read = progress.partsRead < progress.parts ? `${count(progress.partsRead)} of ` : "";
  const parts = `${read}${plural(progress.parts, "part")}`;
  return `${plural(progress.rows, "row")} · ${bytes(progress.bytes)} · ${parts}`;
}

/** @param {Status} status @param {number | null} left */
export function timeWords(status, left) {
  if (!status.created) return "";
  if (status.ended !== null) return duration(status.ended - status.created);
  const spent = duration(now() - status.created);
  if (status.no_worker) return `waits for a worker, ${spent}`;
  if (left !== null) return `${duration(left)} left`;
  return status.state === "running" ? `${spent} so far` : `waiting, ${spent}`;
}
