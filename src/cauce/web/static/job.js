// One job: how it stands and what holds it up, its plan at work, its answers, its rejects and its timeline.

import { getJson, jobPath, now, Problem, sendJson } from "./api.js";
import { datasets } from "./datasets.js";
import { h, keyed, replace, say, set } from "./dom.js";
import { bytes, clock, count, duration, plural } from "./format.js";
import { GraphView } from "./graph.js";
import { cancelWords, timeWords } from "./jobs.js";
import { confirmed, toast } from "./notices.js";
import { NoWorkerBanner } from "./no_worker.js";
import { ENDED, Pace, progressOf } from "./progress.js";
import { answerOf, answerWords, rejectsOf, ResultView } from "./results.js";
import { follow } from "./stream.js";
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
    this.cancel = h("button.danger", { type: "button", onclick: () => this.cancelIt(), disabled: true }, "Cancel");
    this.live = h("span.live", { role: "status" });
    this.answerPlace = h("div", {}, h("p.quiet", {}, "Looking…"));
    this.timelinePlace = h("div");
    this.happened = h("div");
    this.element = h("section", { "aria-labelledby": "title" }, this.head(), this.body());
    this.start();
  }

  head() {
    return h("div", {},
      h("div.bar", {}, h("a.back", { href: "#/jobs", "aria-label": "All jobs" }, "←"),
        h("h1", { id: "title" }, this.job), this.state, this.live, h("span.spring"), this.cancel),
      this.missing.element, this.why, this.facts);
  }

  body() {
    const heads = ["Table", "Received", "Parts", "Read", "Rows", "Rejects"];
    this.answerCard = card("Answers", this.answerPlace);
    this.sections = h("div", {},
      card("Plan at work", this.graph.element, legend()),
      this.answerCard,
      card("Tables", h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Tables" }, h("table.compact", {},
        h("thead", {}, h("tr", {}, heads.map((head, index) => h(index ? "th.number" : "th", { scope: "col" }, head)))), this.tables))),
      card("Timeline", this.timelinePlace, h("details.more", {}, h("summary", {}, "What happened, in words"), this.happened)),
      card("Rejects", this.rejects.element));
    return this.sections;
  }

  async start() {
    const over = () => this.status !== null && ENDED.has(this.status.state);
    follow(`${jobPath(this.job)}/events?graph=true`, {
      event: (name, data) => (name === "status" ? this.take(data) : this.takeGraph(data)),
      live: (live) => say(this.live, live || over() ? "" : "The service does not answer; trying again…"),
      refused: (problem) => this.refused(problem),
      over,
    }, this.signal);
    const ticking = setInterval(() => this.status && this.fillFacts(this.status), 1000);
    this.signal.addEventListener("abort", () => clearInterval(ticking));
  }

  /** @param {Problem} problem */
  refused(problem) {
    say(this.why, problem.message);
    this.sections?.remove();
  }

  /** @param {Status} status */
  take(status) {
    // Of a job that was over when we came, the answers are what one wants to see first.
    if (this.status === null && status.state === "done") this.sections?.prepend(this.answerCard ?? "");
    this.status = status;
    set(this.state, "class", `state ${status.state}`);
    say(this.state, status.state);
    set(this.cancel, "disabled", status.state === "cancelled" || status.state === "expired");
    say(this.cancel, status.state === "done" || status.state === "failed" ? "Remove" : "Cancel");
    this.missing.show(status.no_worker);
    // The banner says the same.
    set(this.why, "hidden", Boolean(status.no_worker));
    this.fillFacts(status);
    this.fillTables(status);
    if (!Object.keys(status.tables).length) {
      say(this.why, status.cause);
      this.sections?.remove();
      return;
    }
    this.fillAnswers(status);
    this.rejects.refresh();
  }

  /** @param {any} graph */
  takeGraph(graph) {
    say(this.why, graph.why);
    if (!graph.stages.length) return;
    this.graph.show(graph);
    replace(this.timelinePlace, timeline(graph.stages, graph.history, graph.happenings));
    replace(this.happened, list(graph.happenings));
  }

  /** @param {Status} status */
  fillFacts(status) {
    const progress = progressOf(status);
    const left = this.pace.left(status, now());
    const rate = this.pace.rate(status, now());
    const facts = [
      ["Dataset", status.dataset],
      ["Client", status.owner],
      ["Started", clock(status.created)],
      [status.ended === null ? "Time" : "Ended", status.ended === null ? timeWords(status, left) :
        `${clock(status.ended)}, took ${duration(status.ended - status.created)}`],
      ["Read", `${plural(progress.rows, "row")}, ${bytes(progress.bytesRead)}${ENDED.has(status.state) || status.no_worker || rate <= 0 ? "" :
        `, ${bytes(rate)}/s`}`],
      ["Kept until", status.expires === null ? "" : clock(status.expires)],
      ...Object.entries(status.parameters),
    ];
    keyed(this.facts, facts.filter(([, value]) => value), ([name]) => name,
      ([name]) => h("div", {}, h("dt", {}, name), h("dd")),
      (row, [, value]) => say(/** @type {Element} */ (row.lastElementChild), value));
  }

  /** @param {Status} status */
  fillTables(status) {
    keyed(this.tables, Object.entries(status.tables), ([name]) => name,
      ([name]) => h("tr", {}, h("th", { scope: "row" }, name), ...Array.from({ length: 5 }, () => h("td.number"))),
      (row, [, table]) => {
        const of = table.complete === null ? " so far" : ` of ${count(table.complete)}`;
        [bytes(table.bytes), `${count(table.parts)}${of}`, count(table.parts_read), count(table.rows), count(table.rejects)]
          .forEach((text, index) => say(row.children[index + 1], text));
      });
  }

  /** @param {Status} status */
  async fillAnswers(status) {
    if (!this.answers.size) await this.makeAnswers(status);
    this.labels?.(status);
    const chosen = this.tabs?.chosen();
    if (chosen) this.answers.get(chosen)?.refresh();
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
    this.tabs = tabs("Answers", made, (query) => this.answers.get(query)?.refresh());
    replace(this.answerPlace, this.tabs.element);
    this.labels = (/** @type {Status} */ now) => {
      for (const query of now.queries) {
        const answer = now.answers[query];
        if (answer) this.tabs?.label(query, `${query} · ${answerWords(answer)}`, answer.complete);
      }
    };
  }

  async cancelIt() {
    if (!(await confirmed(`Cancel ${this.job}?`, cancelWords(1), "Cancel it"))) return;
    try {
      await sendJson("DELETE", jobPath(this.job));
      toast(`Job ${this.job} is cancelled`);
      this.take(await getJson(jobPath(this.job)));
    } catch (problem) {
      toast(problem instanceof Problem ? problem.message : String(problem), "bad");
    }
  }
}

/** @param {string} title @param {...Element} body */
function card(title, ...body) {
  return h("section.card", {}, h("h2", {}, title), ...body);
}

function legend() {
  return h("ul.legend", {},
    h("li", {}, h("span.key.busy"), "busy: a worker is at it"),
    h("li", {}, h("span.key.waiting"), "waiting: held by a worker, its input has not come"),
    h("li", {}, h("span.key.idle"), "idle: nobody is at it"));
}
