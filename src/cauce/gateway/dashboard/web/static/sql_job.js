// The job of the statements: progress, answers and plan, by the same parts as on the page of a job.

import { now } from "./api.js";
import { h, say, set } from "./dom.js";
import { bytes, duration, plural } from "./format.js";
import { fillProgress, meterOf, timeWords } from "./job_row.js";
import { card, JobView, planCard } from "./job_view.js";
import { ENDED, Pace, progressOf } from "./progress.js";

/** @typedef {import("./progress.js").Status} Status */

export class SqlJob {
  /** @param {string} job @param {AbortSignal} signal */
  constructor(job, signal) {
    this.pace = new Pace();
    this.view = new JobView(job, { status: (status) => this.take(status), empty: () => this.lost(), removed: () => this.removed() }, signal);
    const { state, live, end, missing, why, answers, graph } = this.view;
    this.facts = h("span.quiet");
    this.progress = h("div.sql-progress", { hidden: true }, meterOf());
    this.rejected = h("a.warning", { href: `#/job/${encodeURIComponent(job)}/rejects` });
    this.rejects = h("p.warning", { hidden: true }, this.rejected, " could not be read.");
    this.again = h("p.quiet", { hidden: true }, "Run the statements again to get new answers.");
    this.sections = h("div", {}, card("Answers", this.rejects, answers.element), planCard(graph));
    this.element = h("section.sql-job", { "aria-label": "Answers and plan" },
      h("div.bar", {}, state, this.facts, live, h("span.spring"),
        h("a", { href: `#/job/${encodeURIComponent(job)}` }, "Job ", h("code", {}, job)), end),
      this.progress, missing.element, why, this.again, this.sections);
    this.view.start();
    const ticking = setInterval(() => this.view.status && !this.view.over() && this.fillFacts(this.view.status), 1000);
    signal.addEventListener("abort", () => clearInterval(ticking));
  }

  /** @param {Status} status */
  take(status) {
    const ended = ENDED.has(status.state);
    const { rejects } = progressOf(status);
    this.fillFacts(status);
    set(this.progress, "hidden", ended);
    if (!ended) fillProgress(this.progress, status);
    set(this.rejects, "hidden", !rejects);
    say(this.rejected, plural(rejects, "row or cell", "rows or cells"));
    // The sentence of a job that is done says nothing that the answers do not show.
    this.element.classList.toggle("done", status.state === "done");
  }

  /** @param {Status} status */
  fillFacts(status) {
    const { rows, bytesRead } = progressOf(status);
    const left = this.pace.left(status, now());
    if (status.state === "done") say(this.facts, `${plural(rows, "row")}, ${bytes(bytesRead)} read in ${duration((status.ended ?? now()) - status.created)}`);
    else say(this.facts, ENDED.has(status.state) ? "" : timeWords(status, left));
  }

  removed() {
    this.view.tell("The job and its answers were removed.", false);
    set(this.view.end, "hidden", true);
    set(this.view.state, "hidden", true);
    say(this.facts, "");
    this.lost();
  }

  /** There are no answers any more. */
  lost() {
    this.element.classList.remove("done");
    this.sections.remove();
    set(this.again, "hidden", false);
  }
}
