// The page of one job: its state and bottleneck, and its sections as tabs, each with an address.

import { getJson, jobPath, now } from "./api.js";
import { onRecovery } from "./connection.js";
import { breakable, h, replace, set } from "./dom.js";
import { fillFacts, fillTables, tablesOf } from "./job_facts.js";
import { fillProgress, meterOf } from "./job_row.js";
import { card, JobView } from "./job_view.js";
import { count, short } from "./format.js";
import { PageTabs } from "./page_tabs.js";
import { ENDED, isSql, Pace, progressOf } from "./progress.js";
import { Rejects } from "./rejects.js";
import { scroller } from "./scroller.js";
import { addressOf } from "./sql_tables.js";
import { list, timeline } from "./timeline.js";

/** @typedef {import("./progress.js").Status} Status */

const SECTIONS = ["results", "plan", "rejects", "timeline", "inputs"];

export class JobPage {
  /** @param {string} job @param {string[]} where the section and its part, as in the address @param {AbortSignal} signal */
  constructor(job, where, signal) {
    this.job = job;
    this.pace = new Pace();
    this.view = new JobView(job, {
      status: (status) => this.take(status),
      graph: (graph) => this.takeGraph(graph),
      empty: () => this.sections.element.remove(),
      removed: () => (location.hash = "#/jobs"),
      part: (section, part) => history.pushState(null, "", this.address(section, part)),
    }, signal);
    this.rejects = new Rejects(job, signal);
    this.facts = h("dl.facts");
    this.tables = h("tbody");
    this.statements = h("div");
    this.timelinePlace = h("div");
    this.happened = h("div");
    this.progress = h("div.job-progress", { hidden: true }, meterOf());
    /** Whether the plan was opened because the job was not done. */
    this.watched = false;
    this.sections = this.tabs();
    this.element = h("section.job-page", { "aria-labelledby": "title" }, this.head(), this.sections.element);
    this.goTo(where);
    this.view.start();
    onRecovery(() => this.view.status && this.refresh(this.view.status), signal);
    const ticking = setInterval(() => this.view.status && fillFacts(this.facts, this.view.status, this.pace, now()), 1000);
    signal.addEventListener("abort", () => clearInterval(ticking));
  }

  head() {
    const { state, live, end, missing, why } = this.view;
    return h("div.job-head", {},
      h("nav.crumbs", { "aria-label": "Where you are" }, h("span", { "aria-hidden": "true" }, "←"), h("a", { href: "#/jobs" }, "Jobs")),
      h("div.bar", {}, h("h1", { id: "title" }, breakable(this.job)), state, live, h("span.spring"), end),
      missing.element, why, this.progress, this.facts);
  }

  tabs() {
    const sections = [
      { id: "results", name: "Results", panel: card("", this.view.answers.element) },
      { id: "plan", name: "Plan", panel: card("", this.view.graph.element) },
      { id: "rejects", name: "Rejects", panel: this.rejects.element },
      { id: "timeline", name: "Timeline", panel: h("div", {}, card("When each stage was busy", scroller("Timeline", this.timelinePlace)), card("Events", this.happened)) },
      { id: "inputs", name: "Inputs", panel: h("div", {}, this.statements, card("Tables", tablesOf(this.tables))) },
    ];
    return new PageTabs("Sections of the job", sections, (id) => this.address(id), (id) => this.openedSection(id));
  }

  /** @param {string} section @param {string | number | null} [part] */
  address(section, part = null) {
    return `#/job/${encodeURIComponent(this.job)}/${section}${part === null ? "" : `/${encodeURIComponent(part)}`}`;
  }

  /** @param {string} section */
  openedSection(section) {
    if (section === "rejects" && this.view.status) this.refresh(this.view.status);
    if (section === "results") this.view.answers.resized();
  }

  /** Another address of the same job. @param {string[]} where */
  goTo([wanted = "", part = ""]) {
    const section = SECTIONS.includes(wanted) ? wanted : "results";
    if (this.sections.current !== section) this.sections.open(section);
    if (section === "results" && part) this.view.answers.open(part);
    if (section === "plan") this.view.openStage(/^\d+$/.test(part) ? Number(part) : null);
  }

  /** @param {Status} status */
  take(status) {
    if (this.view.status === null) this.arrange(status);
    const ended = ENDED.has(status.state);
    set(this.element, "data-state", status.state);
    set(this.progress, "hidden", ended);
    if (!ended) fillProgress(this.progress, status);
    fillFacts(this.facts, status, this.pace, now());
    fillTables(this.tables, status);
    this.label(status);
    this.refresh(status);
    // A section that the person has chosen, or a plan that they have moved, stays.
    const untouched = this.watched && !location.hash.split("/")[3] && !this.view.graph.viewport.touched;
    if (status.state === "done" && untouched) this.sections.open("results");
  }

  /** @param {Status} status */
  label(status) {
    const { rejects, answers, complete } = progressOf(status);
    this.sections.note("results", answers ? (complete === answers ? count(answers) : `${complete} of ${answers}`) : "", complete === answers ? "good" : "");
    this.sections.note("rejects", rejects ? short(rejects) : "", "warn");
    this.sections.note("inputs", count(Object.keys(status.tables).length));
    this.sections.note("plan", status.state === "failed" ? "failed" : "", "bad");
  }

  /** Called once: a job without results opens with its plan. @param {Status} status */
  arrange(status) {
    this.watched = !location.hash.split("/")[3] && status.state !== "done";
    if (this.watched) this.sections.open("plan");
    if (isSql(status) && Object.keys(status.tables).length) this.showStatements(status.on);
  }

  /** @param {string} dataset */
  async showStatements(dataset) {
    const found = await getJson(`${jobPath(this.job)}/sql`).catch(() => null);
    if (!found) return;
    replace(this.statements, card("Statements",
      h("pre.statements", { tabindex: "0", role: "region", "aria-label": "Statements" }, found.sql),
      h("a", { href: addressOf(dataset, this.job) }, "Open in the editor")));
  }

  /** Loads missing rejects. @param {Status} status */
  refresh(status) {
    if (Object.keys(status.tables).length && this.sections.current === "rejects") this.rejects.refresh(status);
  }

  /** @param {any} graph */
  takeGraph(graph) {
    replace(this.timelinePlace, timeline(graph.stages, graph.history, graph.happenings));
    replace(this.happened, list(graph.happenings));
  }
}
