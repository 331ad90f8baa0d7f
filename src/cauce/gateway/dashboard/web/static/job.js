// The page of one job: status and bottleneck, plan with progress, answers, rejects and timeline.

import { getJson, jobPath, now } from "./api.js";
import { onRecovery } from "./connection.js";
import { breakable, h, replace } from "./dom.js";
import { fillFacts, fillTables, tablesOf } from "./job_facts.js";
import { card, JobView, planCard } from "./job_view.js";
import { isSql, Pace } from "./progress.js";
import { rejectsOf, ResultView } from "./results.js";
import { scroller } from "./scroller.js";
import { addressOf } from "./sql_tables.js";
import { list, timeline } from "./timeline.js";

/** @typedef {import("./progress.js").Status} Status */

export class JobPage {
  /** @param {string} job @param {AbortSignal} signal */
  constructor(job, signal) {
    this.job = job;
    this.pace = new Pace();
    this.view = new JobView(job, {
      status: (status) => this.take(status),
      graph: (graph) => this.takeGraph(graph),
      empty: () => this.sections.remove(),
      removed: () => (location.hash = "#/jobs"),
    }, signal);
    this.rejects = new ResultView(rejectsOf(job), signal);
    this.facts = h("dl.facts");
    this.tables = h("tbody");
    this.timelinePlace = h("div");
    this.happened = h("div");
    this.answerCard = card("Answers", this.view.answers.element);
    this.sections = this.body();
    this.element = h("section", { "aria-labelledby": "title" }, this.head(), this.sections);
    this.view.start();
    onRecovery(() => this.view.status && this.refresh(this.view.status), signal);
    const ticking = setInterval(() => this.view.status && fillFacts(this.facts, this.view.status, this.pace, now()), 1000);
    signal.addEventListener("abort", () => clearInterval(ticking));
  }

  head() {
    const { state, live, end, missing, why } = this.view;
    return h("div", {},
      h("div.bar", {}, h("a.back", { href: "#/jobs", "aria-label": "All jobs" }, "←"),
        h("h1", { id: "title" }, breakable(this.job)), state, live, h("span.spring"), end),
      missing.element, why, this.facts);
  }

  body() {
    return h("div", {},
      planCard(this.view.graph),
      this.answerCard,
      card("Tables", tablesOf(this.tables)),
      card("Timeline", scroller("Timeline", this.timelinePlace), h("details.more", {}, h("summary", {}, "Events as text"), this.happened)),
      card("Rejects", this.rejects.element));
  }

  /** @param {Status} status */
  take(status) {
    if (this.view.status === null) this.arrange(status);
    fillFacts(this.facts, status, this.pace, now());
    fillTables(this.tables, status);
    this.refresh(status);
  }

  /** Called once. @param {Status} status */
  arrange(status) {
    // For a job that had ended when the page was opened, show the answers first.
    if (status.state === "done") this.sections.prepend(this.answerCard);
    if (isSql(status) && Object.keys(status.tables).length) this.showStatements(status.on);
  }

  /** @param {string} dataset */
  async showStatements(dataset) {
    const place = card("Statements");
    this.sections.prepend(place);
    const found = await getJson(`${jobPath(this.job)}/sql`).catch(() => null);
    if (!found) return place.remove();
    place.append(h("pre.statements", { tabindex: "0", role: "region", "aria-label": "Statements" }, found.sql),
      h("a", { href: addressOf(dataset, this.job) }, "Open in the editor"));
  }

  /** Loads missing rejects. @param {Status} status */
  refresh(status) {
    if (Object.keys(status.tables).length) this.rejects.refresh(status);
  }

  /** @param {any} graph */
  takeGraph(graph) {
    replace(this.timelinePlace, timeline(graph.stages, graph.history, graph.happenings));
    replace(this.happened, list(graph.happenings));
  }
}
