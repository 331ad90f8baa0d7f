// The rejects of a job: grouped by reason with examples, then all of them by page.

import { getJson, jobPath } from "./api.js";
import { breakable, h, replace } from "./dom.js";
import { count, percent, plural } from "./format.js";
import { ENDED, progressOf } from "./progress.js";
import { rejectsOf, ResultView } from "./results.js";

/**
 * @typedef {{file: string, line: number | null, raw: string}} Example
 * @typedef {{reason: string, column: string | null, count: number, files: number, examples: Example[]}} Reason
 * @typedef {{reasons: Reason[], counted: number, total: number, left_out: number, complete: boolean}} Reasons
 */

export class Rejects {
  /** @param {string} job @param {AbortSignal} signal */
  constructor(job, signal) {
    this.job = job;
    this.signal = signal;
    /** Of the status at the last request. */
    this.known = "";
    this.groups = h("div.reasons");
    this.list = new ResultView(rejectsOf(job), signal);
    this.all = h("section.card.all-rejects", { hidden: true }, h("h2", {}, "All rejects"), this.list.element);
    this.none = h("div.empty-box", {}, h("p", {}, "Loading…"));
    this.element = h("div", {}, this.none, this.groups, this.all);
  }

  /** Requests what is new. @param {import("./progress.js").Status} status */
  async refresh(status) {
    const { rejects } = progressOf(status);
    const ended = ENDED.has(status.state);
    this.none.hidden = rejects > 0;
    this.all.hidden = rejects === 0;
    if (!rejects) return replace(this.none, h("p.empty-title", {}, ended ? "No rejects" : "No rejects so far"),
      h("p.quiet", {}, "Rows and cells that cannot be read are listed here, with their file and line."));
    this.list.refresh(status);
    const known = `${rejects} ${status.state}`;
    if (known === this.known) return;
    this.known = known;
    const found = await getJson(`${jobPath(this.job)}/rejects/reasons`, this.signal).catch(() => null);
    if (found) replace(this.groups, reasonsCard(found));
    else this.known = "";
  }
}

/** @param {Reasons} found */
function reasonsCard(found) {
  const most = Math.max(1, ...found.reasons.map((reason) => reason.count));
  const bound = found.counted < found.total ? `Counted in the first ${count(found.counted)} of ${plural(found.total, "reject")}.` : "";
  const left = found.left_out ? `${plural(found.left_out, "rarer reason")} not shown.` : "";
  return h("section.card", {}, h("h2", {}, "By reason"),
    h("ul.reason-list", {}, found.reasons.map((reason) => reasonRow(reason, most, found.counted))),
    bound || left ? h("p.quiet.small", {}, [bound, left].filter(Boolean).join(" ")) : null);
}

/** A few of many are not none. @param {number} share */
function shareOf(share) {
  return share < 0.005 ? "<1 %" : percent(share);
}

/** @param {Reason} reason @param {number} most @param {number} counted */
function reasonRow(reason, most, counted) {
  const level = h("span.reason-level");
  level.style.width = `${(100 * reason.count) / most}%`;
  const where = reason.column === null ? "whole record" : ["column ", h("code", {}, breakable(reason.column))];
  return h("li", {}, h("details", {},
    h("summary", {}, h("span.reason-name", {}, h("strong", {}, reason.reason), h("span.quiet.small", {}, where)),
      h("span.reason-bar", { "aria-hidden": "true" }, level),
      h("span.reason-count", {}, count(reason.count), h("span.quiet.small", {}, ` ${shareOf(reason.count / Math.max(counted, 1))}`))),
    h("div.examples", {}, h("p.quiet.small", {}, `First ${plural(reason.examples.length, "example")}, from ${plural(reason.files, "file")}`),
      h("ul", {}, reason.examples.map((example) => h("li", {},
        h("span.quiet.small", {}, `${example.file}${example.line === null ? "" : `:${example.line}`}`), h("code", {}, example.raw)))))));
}
