// The page of one job: status and bottleneck, plan with progress, answers, rejects and timeline.

import { getJson, jobPath, now, Problem } from "./api.js";
import { onRecovery } from "./connection.js";
import { datasets } from "./datasets.js";
import { breakable, h, replace, say, set } from "./dom.js";
import { GraphView } from "./graph.js";
import { canEnd, endJobs } from "./job_end.js";
import { fillFacts, fillTables, tablesOf } from "./job_facts.js";
import { NoWorkerBanner } from "./no_worker.js";
import { BROKEN, ENDED, Pace } from "./progress.js";
import { answerOf, answerWords, rejectsOf, ResultView } from "./results.js";
import { follow } from "./stream.js";
import { scroller } from "./scroller.js";
import { tabs } from "./tabs.js";
import { list, timeline } from "./timeline.js";

/** @typedef {import("./progress.js").Status} Status */

export class JobPage {
  /** @param {string} job @param {AbortSignal} signal */
  constructor(job, signal) {
    this.job = job;
    this.signal = signal;
    this.pace = new Pace();
    /** @type {Status | null} */
    this.status = null;
    this.graph = new GraphView();
    this.rejects = new ResultView(rejectsOf(job), signal);
    /** @type {Map<string, ResultView>} */
    this.answers = new Map();
    this.state = h("span.state");
    this.facts = h("dl.facts");
    this.why = h("p.why", { role: "status" });
    this.missing = new NoWorkerBanner();
    this.tables = h("tbody");
    this.end = h("button.danger", { type: "button", onclick: () => this.endIt(), hidden: true });
    this.live = h("span.live", { role: "status" });
    this.answerPlace = h("div", {}, h("p.quiet", {}, "Loading…"));
    this.timelinePlace = h("div");
    this.happened = h("div");
    this.element = h("section", { "aria-labelledby": "title" }, this.head(), this.body());
    this.start();
  }

  head() {
    return h("div", {},
      h("div.bar", {}, h("a.back", { href: "#/jobs", "aria-label": "All jobs" }, "←"),
        h("h1", { id: "title" }, breakable(this.job)), this.state, this.live, h("span.spring"), this.end),
      this.missing.element, this.why, this.facts);
  }

  body() {
    this.answerCard = card("Answers", this.answerPlace);
    this.sections = h("div", {},
      card("Plan and progress", this.graph.element, legend()),
      this.answerCard,
      card("Tables", tablesOf(this.tables)),
      card("Timeline", scroller("Timeline", this.timelinePlace), h("details.more", {}, h("summary", {}, "Events as text"), this.happened)),
      card("Rejects", this.rejects.element));
    return this.sections;
  }

  async start() {
    const over = () => this.status !== null && ENDED.has(this.status.state);
    follow(`${jobPath(this.job)}/events?graph=true`, {
      event: (name, data) => (name === "status" ? this.take(data) : this.takeGraph(data)),
      live: (live) => say(this.live, live || over() ? "" : "Live updates are interrupted; retrying."),
      refused: (problem) => this.refused(problem),
      over,
    }, this.signal);
    onRecovery(() => this.status && this.refresh(this.status), this.signal);
    const ticking = setInterval(() => this.status && fillFacts(this.facts, this.status, this.pace, now()), 1000);
    this.signal.addEventListener("abort", () => clearInterval(ticking));
  }

  /** @param {Problem} problem */
  refused(problem) {
    this.tell(problem.message, true);
    this.sections?.remove();
  }

  /** @param {string} text @param {boolean} bad */
  tell(text, bad) {
    say(this.why, text);
    this.why.classList.toggle("bad", bad);
  }

  /** @param {Status} status */
  take(status) {
    // For a job that had ended when the page was opened, show the answers first.
    if (this.status === null && status.state === "done") this.sections?.prepend(this.answerCard ?? "");
    this.status = status;
    set(this.state, "class", `state ${status.state}`);
    say(this.state, status.state);
    set(this.end, "hidden", !canEnd(status));
    say(this.end, ENDED.has(status.state) ? "Remove" : "Cancel");
    this.missing.show(status.no_worker);
    // The banner shows the same text.
    set(this.why, "hidden", Boolean(status.no_worker));
    fillFacts(this.facts, status, this.pace, now());
    fillTables(this.tables, status);
    if (BROKEN.has(status.state)) this.tell(status.cause, true);
    if (!Object.keys(status.tables).length) {
      this.tell(status.cause, BROKEN.has(status.state));
      this.sections?.remove();
      return;
    }
    this.refresh(status);
  }

  /** Loads missing answers and rejects. @param {Status} status */
  refresh(status) {
    if (!Object.keys(status.tables).length) return;
    this.fillAnswers(status);
    this.rejects.refresh(status);
  }

  /** @param {any} graph */
  takeGraph(graph) {
    this.tell(graph.why, this.status?.state === "failed");
    if (!graph.stages.length) return;
    this.graph.show(graph);
    replace(this.timelinePlace, timeline(graph.stages, graph.history, graph.happenings));
    replace(this.happened, list(graph.happenings));
  }

  /** @param {Status} status */
  async fillAnswers(status) {
    if (!this.answers.size) await this.makeAnswers(status);
    this.labels?.(status);
    const chosen = this.tabs?.chosen();
    if (chosen) this.answers.get(chosen)?.refresh(status);
  }

  /** @param {Status} status */
  async makeAnswers(status) {
    for (const query of status.queries) this.answers.set(query, new ResultView(answerOf(this.job, query, null), this.signal));
    const known = await datasets(this.signal).catch(() => []);
    const queries = known.find((/** @type {any} */ each) => each.name === status.dataset)?.queries ?? [];
    const about = new Map(queries.map((/** @type {any} */ query) => [query.name, query]));
    for (const [query, view] of this.answers) view.what.hint = about.get(query)?.chart ?? null;
    const made = status.queries.map((query) => {
      const question = about.get(query)?.question ?? "";
      const view = /** @type {ResultView} */ (this.answers.get(query));
      return { id: query, panel: h("div", {}, h("p.question", {}, question), view.element) };
    });
    this.tabs = tabs("Answers", made, (query) => this.status && this.answers.get(query)?.refresh(this.status));
    replace(this.answerPlace, this.tabs.element);
    this.labels = (/** @type {Status} */ now) => {
      for (const query of now.queries) {
        const answer = now.answers[query];
        if (answer) this.tabs?.label(query, answerWords(answer, ENDED.has(now.state)), answer.complete);
      }
    };
  }

  async endIt() {
    const status = /** @type {Status} */ (this.status);
    if (!(await endJobs([status]))) return;
    if (ENDED.has(status.state)) location.hash = "#/jobs";
    else this.take(await getJson(jobPath(this.job)));
  }
}

/** @param {string} title @param {...Element} body */
function card(title, ...body) {
  return h("section.card", {}, h("h2", {}, title), ...body);
}

function legend() {
  return h("ul.legend", {},
    h("li", {}, h("span.key.busy"), "busy: a worker runs it"),
    h("li", {}, h("span.key.waiting"), "waiting: leased by a worker, input not there yet"),
    h("li", {}, h("span.key.idle"), "idle: not leased"));
}
