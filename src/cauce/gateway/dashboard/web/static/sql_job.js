// The job of the statements: progress, answers and plan, by the same parts as on the page of a job.

import { now } from "./api.js";
import { h, say, set } from "./dom.js";
import { bytes, duration, plural } from "./format.js";
import { fillProgress, meterOf } from "./job_row.js";
import { card, JobView, planCard } from "./job_view.js";
import { ENDED, progressOf } from "./progress.js";

/** @typedef {import("./progress.js").Status} Status */

export class SqlJob {
  /** @param {string} job @param {AbortSignal} signal */
  constructor(job, signal) {
    this.link = `#/job/${encodeURIComponent(job)}`;
    this.view = new JobView(job, { status: (status) => this.take(status), empty: () => this.sections.remove(), removed: () => this.removed() }, signal);
    const { state, live, end, missing, why, answers, graph } = this.view;
    this.facts = h("span.quiet");
    this.progress = h("div", { hidden: true }, meterOf());
    this.rejects = h("p.warning", { hidden: true });
    this.plan = planCard(graph);
    this.sections = h("div", {}, card("Answers", this.rejects, answers.element), this.plan);
    this.element = h("section.sql-job", { "aria-label": "Answers and plan" },
      h("div.bar", {}, state, this.facts, live, h("span.spring"), h("a", { href: this.link }, "Job ", h("code", {}, job)), end),
      this.progress, missing.element, why, this.sections);
    this.view.start();
  }

  /** @param {Status} status */
  take(status) {
    const { rows, bytesRead, rejects } = progressOf(status);
    const ended = ENDED.has(status.state);
    const seconds = duration((status.ended ?? now()) - status.created);
    say(this.facts, status.state === "done" ? `${plural(rows, "row")}, ${bytes(bytesRead)} read in ${seconds}` : "");
    set(this.progress, "hidden", ended);
    if (!ended) fillProgress(this.progress, status);
    set(this.rejects, "hidden", !rejects);
    say(this.rejects, `${plural(rejects, "row or cell", "rows or cells")} could not be read. The page of the job lists them.`);
    // The sentence of a job that is done says nothing that the answers do not show.
    this.element.classList.toggle("done", status.state === "done");
  }

  removed() {
    this.view.tell("The job and its answers were removed. Run the statements again for new answers.", false);
    this.sections.remove();
    set(this.view.end, "hidden", true);
    set(this.view.state, "hidden", true);
    this.element.classList.remove("done");
  }
}
