// A job as it runs: its state, the sentence on its bottleneck, its plan and its answers. Pages arrange these elements.

import { getJson, jobPath, Problem } from "./api.js";
import { Answers } from "./answers.js";
import { onRecovery } from "./connection.js";
import { h, replace, say, set } from "./dom.js";
import { GraphView } from "./graph.js";
import { canEnd, endJobs } from "./job_end.js";
import { NoWorkerBanner } from "./no_worker.js";
import { BROKEN, ENDED } from "./progress.js";
import { StagePanel } from "./stage_panel.js";
import { follow } from "./stream.js";

/**
 * @typedef {import("./progress.js").Status} Status
 * @typedef {object} Listener
 * @property {(status: Status) => void} status called on every change
 * @property {(graph: any) => void} [graph] the plan at work
 * @property {() => void} [empty] called if there is nothing to show but the sentence: the job is unknown or removed
 * @property {(section: string, part: string | number | null) => void} [part] called when the person has chosen an answer or a stage
 * @property {() => void} [removed] called after the person has removed the job
 */

export class JobView {
  /** @param {string} job @param {Listener} listener @param {AbortSignal} signal */
  constructor(job, listener, signal) {
    this.job = job;
    this.listener = listener;
    this.signal = signal;
    /** @type {Status | null} */
    this.status = null;
    /** @type {any} */
    this.plan = null;
    this.graph = new GraphView((stage) => this.chooseStage(stage));
    this.panel = new StagePanel(job, () => this.closeStage(), signal);
    replace(this.graph.side, this.panel.element);
    this.answers = new Answers(job, signal, (query) => listener.part?.("results", query));
    this.missing = new NoWorkerBanner();
    this.state = h("span.state");
    this.why = h("p.why", { role: "status" });
    this.live = h("span.live", { role: "status" });
    this.end = h("button.danger", { type: "button", onclick: () => this.endIt(), hidden: true });
  }

  /** Follows the job until it has ended. */
  start() {
    follow(`${jobPath(this.job)}/events?graph=true`, {
      event: (name, data) => (name === "status" ? this.take(data) : this.takeGraph(data)),
      live: (live) => say(this.live, live || this.over() ? "" : "Live updates are interrupted; retrying."),
      refused: (problem) => this.refused(problem),
      over: () => this.over(),
    }, this.signal);
    onRecovery(() => this.status && this.refresh(this.status), this.signal);
  }

  over() {
    return this.status !== null && ENDED.has(this.status.state);
  }

  /** @param {Problem} problem */
  refused(problem) {
    this.tell(problem.message, true);
    this.listener.empty?.();
  }

  /** @param {string} text @param {boolean} bad */
  tell(text, bad) {
    say(this.why, text);
    this.why.classList.toggle("bad", bad);
  }

  /** @param {Status} status */
  take(status) {
    this.listener.status(status);
    this.status = status;
    set(this.state, "class", `state ${status.state}`);
    say(this.state, status.state);
    set(this.end, "hidden", !canEnd(status));
    say(this.end, ENDED.has(status.state) ? "Remove" : "Cancel");
    this.missing.show(status.no_worker);
    // The banner shows the same text.
    set(this.why, "hidden", Boolean(status.no_worker));
    const held = Object.keys(status.tables).length > 0;
    if (BROKEN.has(status.state) || !held) this.tell(status.cause, BROKEN.has(status.state));
    if (held) this.refresh(status);
    else this.listener.empty?.();
  }

  /** Loads missing answers. @param {Status} status */
  refresh(status) {
    if (Object.keys(status.tables).length) this.answers.refresh(status);
  }

  /** @param {any} graph */
  takeGraph(graph) {
    this.tell(graph.why, this.status?.state === "failed");
    if (!graph.stages.length) return;
    this.plan = graph;
    this.graph.show(graph);
    this.showStage();
    this.listener.graph?.(graph);
  }

  /** @param {number | null} stage */
  chooseStage(stage) {
    this.openStage(stage);
    this.listener.part?.("plan", stage);
  }

  closeStage() {
    const { stage } = this.graph;
    this.chooseStage(null);
    /** @type {SVGElement | null} */ (this.graph.boxes.querySelector(`[data-stage="${stage}"]`))?.focus();
  }

  /** @param {number | null} stage */
  openStage(stage) {
    this.graph.mark(stage);
    set(this.graph.side, "hidden", stage === null);
    this.showStage();
  }

  showStage() {
    if (this.graph.stage !== null && this.plan) this.panel.show(this.graph.stage, this.plan, this.status?.cause ?? "");
  }

  async endIt() {
    const status = /** @type {Status} */ (this.status);
    if (!(await endJobs([status]))) return;
    if (ENDED.has(status.state)) this.listener.removed?.();
    else this.take(await getJson(jobPath(this.job)));
  }
}

/** @param {string} title @param {...Element} body */
export function card(title, ...body) {
  return h("section.card", {}, title ? h("h2", {}, title) : null, ...body);
}

/** @param {GraphView} graph */
export function planCard(graph) {
  return card("Plan", graph.element);
}
