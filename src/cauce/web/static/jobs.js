// The list of jobs: how each stands, live; several can be chosen and cancelled at once.

import { jobPath, now, Problem, sendJson } from "./api.js";
import { h, keyed, replace, say, set } from "./dom.js";
import { bytes, clock, count, duration, percent, plural } from "./format.js";
import { confirmed, toast } from "./notices.js";
import { NoWorkerBanner } from "./no_worker.js";
import { ENDED, Pace, progressOf } from "./progress.js";
import { follow } from "./stream.js";

const FILTERS = /** @type {[string, (state: string) => boolean][]} */ ([
  ["All", () => true],
  ["Active", (state) => !ENDED.has(state)],
  ["Done", (state) => state === "done"],
  ["Ended otherwise", (state) => ENDED.has(state) && state !== "done"],
]);
const COLUMNS = ["", "Job", "State", "Dataset", "Client", "Progress", "Time", "Started"];

/** @typedef {import("./progress.js").Status} Status */

export class JobsPage {
  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.signal = signal;
    /** @type {Map<string, Status>} */
    this.jobs = new Map();
    /** @type {Set<string>} */
    this.chosen = new Set();
    this.filter = 0;
    this.loaded = false;
    this.pace = new Pace();
    this.rows = h("tbody");
    this.all = /** @type {HTMLInputElement} */ (
      h("input", { type: "checkbox", "aria-label": "Choose all jobs shown", onchange: () => this.chooseAll() }));
    this.cancel = h("button.danger", { type: "button", onclick: () => this.cancelChosen() }, "Cancel");
    this.filters = h("div.chips", { role: "group", "aria-label": "Which jobs" }, FILTERS.map(([name], index) =>
      h("button.chip", { type: "button", onclick: () => this.choose(index) }, name)));
    this.note = h("div.empty");
    this.missing = new NoWorkerBanner();
    this.live = h("span.live", { role: "status" }, "");
    const head = COLUMNS.map((name) => h("th", { scope: "col" }, name || this.all));
    this.table = h("table.jobs", {}, h("thead", {}, h("tr", {}, head)), this.rows);
    this.element = h("section", { "aria-labelledby": "title" },
      h("div.bar", {}, h("h1", { id: "title" }, "Jobs"), this.live, h("span.spring"), this.cancel,
        h("a.button.primary", { href: "#/new" }, "New job")),
      this.missing.element, this.filters, this.table, this.note);
    this.show();
    follow("/v1/events", {
      event: (name, data) => this.take(name, data),
      live: (live) => say(this.live, live ? "" : "The service does not answer; trying again…"),
      refused: (problem) => this.refused(problem),
    }, signal);
    const ticking = setInterval(() => this.show(), 1000);
    signal.addEventListener("abort", () => clearInterval(ticking));
  }

  /** @param {string} name @param {any} data */
  take(name, data) {
    if (name === "all") {
      this.jobs = new Map(data.jobs.map((/** @type {Status} */ status) => [status.job, status]));
      this.loaded = true;
    } else if (name === "status") this.jobs.set(data.job, data);
    else if (name === "gone") this.jobs.delete(data.job);
    this.show();
  }

  /** @param {Problem} problem */
  refused(problem) {
    this.loaded = true;
    replace(this.note, h("p", {}, problem.message));
  }

  /** @param {number} index */
  choose(index) {
    this.filter = index;
    this.show();
  }

  shown() {
    const [, fits] = FILTERS[this.filter];
    return [...this.jobs.values()].filter((status) => fits(status.state)).sort((a, b) => b.created - a.created);
  }

  show() {
    const shown = this.shown();
    this.missing.show([...this.jobs.values()].find((status) => status.no_worker)?.no_worker);
    for (const job of this.chosen) if (!this.jobs.has(job)) this.chosen.delete(job);
    [...this.filters.children].forEach((chip, index) => {
      const many = [...this.jobs.values()].filter((status) => FILTERS[index][1](status.state)).length;
      set(chip, "aria-pressed", String(index === this.filter));
      say(chip, `${FILTERS[index][0]} ${count(many)}`);
    });
    keyed(this.rows, shown, (status) => status.job, (status) => this.makeRow(status), (row, status) => this.fillRow(row, status));
    set(this.table, "hidden", !shown.length);
    if (shown.length) replace(this.note);
    else if (!this.note.firstChild || this.loaded) replace(this.note, this.nothing());
    this.all.checked = shown.length > 0 && shown.every((status) => this.chosen.has(status.job));
    set(this.cancel, "disabled", !this.chosen.size);
    say(this.cancel, this.chosen.size ? `Cancel ${plural(this.chosen.size, "job")}` : "Cancel");
  }

  nothing() {
    if (!this.loaded) return h("p.quiet", {}, "Looking…");
    if (this.jobs.size) return h("p.quiet", {}, "No such jobs.");
    return h("div", {}, h("p", {}, "No jobs yet."),
      h("p.quiet", {}, "Send files from here with ", h("a", { href: "#/new" }, "New job"), ", or from a terminal:"),
      h("pre", {}, "./cauce generate coffee --out coffee --scale 0.0005\n./cauce submit coffee --data coffee " +
        `--gateway ${location.origin}`));
  }

  /** @param {Status} status */
  makeRow(status) {
    const box = h("input", { type: "checkbox", "aria-label": `Choose job ${status.job}`, onchange: () => {
      if (!this.chosen.delete(status.job)) this.chosen.add(status.job);
      this.show();
    } });
    const bar = h("div.meter", { role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, h("div.level"));
    const link = h("a.job-link", { href: `#/job/${encodeURIComponent(status.job)}` }, status.job);
    return h("tr", {}, h("td", {}, box), h("th", { scope: "row" }, link), h("td", {}, h("span.state")), h("td"), h("td"),
      h("td", {}, bar, h("div.quiet.small")), h("td.nowrap"), h("td.nowrap"));
  }

  /** @param {Element} row @param {Status} status */
  fillRow(row, status) {
    const [choice, , state, dataset, owner, progress, time, started] = row.children;
    /** @type {HTMLInputElement} */ (choice.firstElementChild).checked = this.chosen.has(status.job);
    const pill = /** @type {Element} */ (state.firstElementChild);
    set(pill, "class", `state ${status.state}`);
    say(pill, status.state);
    set(pill, "title", status.cause || null);
    say(dataset, `${status.dataset} · ${status.queries.join(", ")}`);
    say(owner, status.owner);
    fillProgress(progress, status);
    say(time, timeWords(status, this.pace.left(status, now())));
    say(started, clock(status.created));
    row.classList.toggle("chosen", this.chosen.has(status.job));
  }

  chooseAll() {
    for (const status of this.shown()) {
      if (this.all.checked) this.chosen.add(status.job);
      else this.chosen.delete(status.job);
    }
    this.show();
  }

  async cancelChosen() {
    const names = [...this.chosen];
    if (!(await confirmed(`Cancel ${plural(names.length, "job")}?`, cancelWords(names.length), "Cancel them"))) return;
    const outcomes = await Promise.allSettled(names.map((name) => sendJson("DELETE", jobPath(name))));
    const failed = outcomes.filter((outcome) => outcome.status === "rejected");
    for (const outcome of failed) toast(/** @type {PromiseRejectedResult} */ (outcome).reason.message, "bad");
    if (failed.length < names.length) toast(`${plural(names.length - failed.length, "job")} cancelled`);
    this.chosen.clear();
    this.show();
  }
}

/** @param {number} many */
export function cancelWords(many) {
  return `All that ${many === 1 ? "it holds is" : "they hold is"} released, answers included. This cannot be undone.`;
}

/** @param {Element} place @param {Status} status */
function fillProgress(place, status) {
  const [bar, words] = place.children;
  const progress = progressOf(status);
  const share = progress.share;
  const level = /** @type {HTMLElement} */ (bar.firstElementChild);
  set(bar, "class", `meter ${status.state} ${share === null && !ENDED.has(status.state) ? "open" : ""}`);
  set(bar, "aria-label", `Progress of ${status.job}`);
  set(bar, "aria-valuenow", share === null ? null : Math.round(share * 100));
  set(bar, "aria-valuetext", share === null ? "not known yet" : percent(share));
  level.style.width = `${(share ?? 0) * 100}%`;
  say(words, progressWords(status));
}

/** @param {Status} status */
export function progressWords(status) {
  const progress = progressOf(status);
  if (!Object.keys(status.tables).length) return status.cause;
  const parts = `${count(progress.partsRead)} of ${plural(progress.parts, "part")}`;
  return `${plural(progress.rows, "row")} · ${bytes(progress.bytes)} · ${parts}`;
}

/** @param {Status} status @param {number | null} left */
export function timeWords(status, left) {
  if (status.ended !== null) return `took ${duration(status.ended - status.created)}`;
  const spent = duration(now() - status.created);
  if (status.no_worker) return `waits for a worker, ${spent}`;
  if (left !== null) return `${duration(left)} left`;
  return status.state === "running" ? `${spent} so far` : `waits for its client, ${spent}`;
}
