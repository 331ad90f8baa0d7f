// A stage in detail, beside the plan: its numbers, its error, and the lane or partition that holds the others up.

import { getJson, jobPath, Problem } from "./api.js";
import { breakable, h, replace } from "./dom.js";
import { bytes, count, duration, plural } from "./format.js";
import { scroller } from "./scroller.js";

const MOST_TASKS = 40;

/**
 * @typedef {import("./graph.js").Stage} Stage
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {{index: number, state: string, busy_s: number, waiting_s: number, rows: number, bytes: number, records_in: number,
 *   rows_out: number, bytes_out: number, held_bytes: number, peak_bytes: number, spilled_bytes: number}} Task
 * @typedef {{name: string, unit: string, steps: string[], tasks: Task[], slow: number | null, median_busy_s: number}} Detail
 */

export class StagePanel {
  /** @param {string} job @param {() => void} closed @param {AbortSignal} signal */
  constructor(job, closed, signal) {
    this.job = job;
    this.signal = signal;
    this.title = h("h2");
    this.body = h("div");
    const close = h("button.plain", { type: "button", "aria-label": "Close the stage", onclick: closed }, "×");
    this.element = h("section.stage-panel", { "aria-label": "Stage", onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && closed() },
      h("div.stage-head", {}, this.title, close), this.body);
    /** @type {number | null} */
    this.stage = null;
  }

  /** Requests the stage, and shows it unless another one was chosen meanwhile. @param {number} stage @param {Graph} graph @param {string} cause */
  async show(stage, graph, cause) {
    const first = this.stage !== stage;
    this.stage = stage;
    const found = graph.stages[stage];
    if (!found) return replace(this.body, h("p.error", {}, "The plan has no such stage."));
    if (first) {
      replace(this.title, breakable(found.name));
      replace(this.body, h("p.quiet", {}, "Loading…"));
    }
    try {
      const detail = await getJson(`${jobPath(this.job)}/stages/${stage}`, this.signal);
      if (this.stage !== stage) return;
      const open = this.body.querySelector("details")?.open ?? false;
      replace(this.body, contentOf(found, graph, detail, cause, open));
    } catch (problem) {
      if (this.signal.aborted) return;
      replace(this.body, h("p.error", {}, problem instanceof Problem ? problem.message : String(problem)));
    }
  }
}

/** @param {Stage} stage @param {Graph} graph @param {Detail} detail @param {string} cause @param {boolean} open whether the computation is shown */
function contentOf(stage, graph, detail, cause, open) {
  return [
    h("p.quiet.small", {}, `for ${stage.queries.join(", ")}`),
    stage.failed ? h("p.error-box", { role: "alert" }, h("strong", {}, "This stage failed the job. "), cause) : null,
    numbersOf(stage, graph, detail),
    slowWords(detail),
    tasksOf(detail),
    detail.steps.length ? h("details.steps", { open }, h("summary", {}, "Computation"), h("ul", {}, detail.steps.map((step) => h("li", {}, step)))) : null,
  ];
}

/** @param {Stage} stage @param {Graph} graph @param {Detail} detail */
function numbersOf(stage, graph, { tasks }) {
  const sum = (/** @type {(task: Task) => number} */ of) => tasks.reduce((total, task) => total + of(task), 0);
  const into = graph.edges.filter((edge) => edge.to_stage === stage.number);
  const total = (/** @type {"rows" | "bytes"} */ what) => into.reduce((all, edge) => all + edge[what], 0);
  const facts = [
    ["Rows in", count(total("rows"))], ["Rows out", count(sum((task) => task.rows_out))],
    ["Bytes in", bytes(total("bytes"))], ["Bytes out", bytes(sum((task) => task.bytes_out))],
    ["Busy", duration(sum((task) => task.busy_s))], ["Waiting for input", duration(sum((task) => task.waiting_s))],
    ["Memory, at most seen", bytes(sum((task) => task.peak_bytes))], ["Temporary files", bytes(sum((task) => task.spilled_bytes))],
  ];
  return h("dl.numbers", {}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** @param {Detail} detail */
function slowWords({ tasks, slow, unit, median_busy_s: middle }) {
  const task = tasks.find((each) => each.index === slow);
  if (!task) return null;
  const times = middle > 0 ? `, ${(task.busy_s / middle).toFixed(1)} times the median of ${duration(middle)}` : "";
  return h("p.slow-note", {}, h("strong", {}, `Slow: ${unit} ${task.index}`), ` was busy for ${duration(task.busy_s)}${times}.`);
}

/** The longest first, so that the slow ones are in sight. @param {Detail} detail */
function tasksOf({ tasks, unit, slow }) {
  if (!tasks.length) return null;
  const longest = Math.max(1e-9, ...tasks.map((task) => task.busy_s + task.waiting_s));
  const shown = tasks.length > MOST_TASKS ? [...tasks].sort((a, b) => b.busy_s - a.busy_s).slice(0, MOST_TASKS) : tasks;
  const left = tasks.length - shown.length;
  const rows = shown.map((task) => h("tr", { class: task.state === "failed" ? "failed" : task.index === slow ? "slow" : "" },
    h("th", { scope: "row" }, task.index, task.state === "failed" ? h("span.error", {}, " failed") : task.index === slow ? h("span.warning", {}, " slow") : null),
    h("td", {}, bar(task, longest)), h("td.number", {}, duration(task.busy_s)), h("td.number", {}, count(task.rows || task.rows_out)),
    h("td.number", {}, bytes(task.peak_bytes))));
  const heads = [unit === "lane" ? "Lane" : "Partition", "Time", "Busy", unit === "lane" ? "Rows in" : "Rows out", "Memory"];
  return h("div.tasks", {}, scroller("Tasks", h("table.compact", {}, h("caption", {}, `${plural(tasks.length, unit)}${left ? `, the ${MOST_TASKS} that were busy longest` : ""}`),
    h("thead", {}, h("tr", {}, heads.map((head, index) => h(index > 1 ? "th.number" : "th", { scope: "col" }, head)))), h("tbody", {}, rows))));
}

/** Busy and waiting time, by the scale of the longest task. @param {Task} task @param {number} longest */
function bar(task, longest) {
  const made = h("div.task-bar", { role: "img", "aria-label": `busy ${duration(task.busy_s)}, waiting ${duration(task.waiting_s)}` }, h("span.busy"), h("span.waiting"));
  const [busy, waiting] = /** @type {HTMLElement[]} */ ([...made.children]);
  busy.style.width = `${(100 * task.busy_s) / longest}%`;
  waiting.style.width = `${(100 * task.waiting_s) / longest}%`;
  return made;
}
