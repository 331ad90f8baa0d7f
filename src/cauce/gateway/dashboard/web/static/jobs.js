// The list of jobs with live status: filters, times of the last jobs, pages, and ending several jobs at once.

import { now, Problem } from "./api.js";
import { h, keyed, replace, say, set } from "./dom.js";
import { count, plural } from "./format.js";
import { canEnd, endJobs, endName } from "./job_end.js";
import { filterOf, matching, noFilter, PAGE_JOBS, pageOf, queryOf } from "./job_filter.js";
import { FilterBar } from "./job_filter_bar.js";
import { JobHistory } from "./job_history.js";
import { fillRow, makeRow } from "./job_row.js";
import { NoWorkerBanner } from "./no_worker.js";
import { keyOf, Pace } from "./progress.js";
import { follow } from "./stream.js";

const COLUMNS = ["", "Job", "State", "Dataset", "Client", "Progress", "Time", "Started"];

/** @typedef {import("./progress.js").Status} Status */

/** Kept while the tab is open, so that returning from a job shows the same list. @type {import("./job_filter.js").Filter} */
const filter = noFilter();

export class JobsPage {
  /** @param {string} query of the address @param {AbortSignal} signal */
  constructor(query, signal) {
    if (query) Object.assign(filter, filterOf(query));
    else if (queryOf(filter)) history.replaceState(null, "", `#/jobs?${queryOf(filter)}`);
    /** @type {Map<string, Status>} */
    this.jobs = new Map();
    /** @type {Set<string>} */
    this.chosen = new Set();
    this.loaded = false;
    this.noted = "none";
    this.owner = "";
    this.pace = new Pace();
    this.rows = h("tbody");
    this.all = /** @type {HTMLInputElement} */ (
      h("input", { type: "checkbox", "aria-label": "Choose all jobs shown", onchange: () => this.chooseAll() }));
    this.end = h("button.danger", { type: "button", onclick: () => this.endChosen() });
    this.filters = new FilterBar((change) => this.choose(change), () => this.reset());
    this.filters.text.value = filter.text;
    this.history = new JobHistory();
    this.note = h("div.empty");
    this.missing = new NoWorkerBanner();
    this.live = h("span.live", { role: "status" }, "");
    const head = COLUMNS.map((name) => h("th", { scope: "col" }, name || this.all));
    this.table = h("table.jobs", {}, h("thead", {}, h("tr", {}, head)), this.rows);
    this.element = h("section", { "aria-labelledby": "title" },
      h("div.bar", {}, h("h1", { id: "title" }, "Jobs"), this.live, h("span.spring"), this.end,
        h("a.button.primary", { href: "#/new" }, "New job")),
      this.missing.element, this.history.element, this.filters.element, this.table, this.note, this.pager());
    this.show();
    follow("/v1/events?all_owners=true", {
      event: (name, data) => this.take(name, data),
      live: (live) => say(this.live, live ? "" : "Live updates are interrupted; retrying."),
      refused: (problem) => this.refused(problem),
    }, signal);
    const ticking = setInterval(() => this.show(), 1000);
    signal.addEventListener("abort", () => clearInterval(ticking));
  }

  pager() {
    this.back = h("button", { type: "button", onclick: () => this.choose({ page: filter.page - 1 }) }, "Newer");
    this.next = h("button", { type: "button", onclick: () => this.choose({ page: filter.page + 1 }) }, "Older");
    this.where = h("span.quiet", { role: "status" });
    this.pages = h("nav.bar.pager", { "aria-label": "Pages of jobs" }, this.back, this.next, this.where);
    return this.pages;
  }

  /** @param {string} name @param {any} data */
  take(name, data) {
    if (name === "all") {
      this.jobs = new Map(data.jobs.map((/** @type {Status} */ status) => [keyOf(status), status]));
      this.owner = data.owner;
      this.loaded = true;
    } else if (name === "status") this.jobs.set(keyOf(data), data);
    else if (name === "gone") this.jobs.delete(keyOf(data));
    this.show();
  }

  /** @param {Problem} problem */
  refused(problem) {
    this.problem = problem;
    this.show();
  }

  /** @param {Partial<import("./job_filter.js").Filter>} change */
  choose(change) {
    Object.assign(filter, change);
    this.show();
    const query = queryOf(filter);
    history.replaceState(null, "", query ? `#/jobs?${query}` : "#/jobs");
  }

  show() {
    this.missing.show([...this.jobs.values()].find((status) => status.no_worker)?.no_worker);
    const found = matching(this.jobs.values(), filter);
    const { number, last, rows } = pageOf(found, filter.page);
    filter.page = number;
    this.history.show(found, this.owner);
    this.shown = rows;
    for (const key of this.chosen) if (!this.canEnd(this.jobs.get(key))) this.chosen.delete(key);
    keyed(this.rows, rows, keyOf, (status) => makeRow(status, this.isOwn(status), () => this.toggle(keyOf(status))),
      (row, status) => fillRow(row, status, this.chosen.has(keyOf(status)), this.canEnd(status), this.pace.left(status, now())));
    set(this.table, "hidden", !rows.length);
    this.fillNote(rows.length ? "" : this.problem ? "refused" : !this.loaded ? "loading" : this.jobs.size ? "no match" : "no jobs");
    this.showControls();
    set(/** @type {Element} */ (this.pages), "hidden", last === 0);
    set(/** @type {Element} */ (this.back), "disabled", number === 0);
    set(/** @type {Element} */ (this.next), "disabled", number === last);
    const first = number * PAGE_JOBS;
    say(/** @type {Element} */ (this.where), `${count(first + 1)}–${count(first + rows.length)} of ${plural(found.length, "job")}`);
  }

  showControls() {
    this.filters.show(this.jobs.values(), filter);
    set(this.filters.element, "hidden", this.loaded && !this.jobs.size);
    const open = (this.shown ?? []).filter((status) => this.canEnd(status));
    this.all.checked = open.length > 0 && open.every((status) => this.chosen.has(keyOf(status)));
    set(this.end, "hidden", !this.chosen.size);
    say(this.end, endName(this.chosenJobs()));
  }

  /** Only the operator's list has jobs of others: their pages and answers are for their owners. @param {Status} status */
  isOwn(status) {
    return status.owner === this.owner;
  }

  /** @param {Status | undefined} status */
  canEnd(status) {
    return status !== undefined && this.isOwn(status) && canEnd(status);
  }

  chosenJobs() {
    return [...this.chosen].flatMap((key) => this.jobs.get(key) ?? []);
  }

  /** Rebuilt only on change, so that a button in it keeps its focus. @param {string} kind */
  fillNote(kind) {
    if (kind === this.noted) return;
    this.noted = kind;
    replace(this.note, kind ? this.noteOf(kind) : null);
  }

  /** @param {string} kind */
  noteOf(kind) {
    if (kind === "refused") {
      const again = this.problem?.status === 401 ? h("button", { type: "button", onclick: () => location.reload() }, "Enter a token") : null;
      return h("div", {}, h("p.error", { role: "alert" }, this.problem?.message), again);
    }
    if (kind === "loading") return h("p.quiet", {}, "Loading…");
    if (kind === "no match") return h("div", {}, h("p.quiet", {}, "No job matches."), h("button", { type: "button", onclick: () => this.reset() }, "Show all jobs"));
    return h("div", {}, h("p", {}, "No jobs yet."),
      h("p.quiet", {}, "Send files from here with ", h("a", { href: "#/new" }, "New job"), ", or from a terminal:"),
      h("pre", {}, "./cauce generate coffee --out coffee --scale 0.0005\n./cauce submit coffee --data coffee " +
        `--gateway ${location.origin}`));
  }

  reset() {
    this.filters.text.value = "";
    this.choose(noFilter());
    this.filters.text.focus();
  }

  /** @param {string} key */
  toggle(key) {
    if (!this.chosen.delete(key)) this.chosen.add(key);
    this.show();
  }

  chooseAll() {
    for (const status of (this.shown ?? []).filter((each) => this.canEnd(each))) {
      if (this.all.checked) this.chosen.add(keyOf(status));
      else this.chosen.delete(keyOf(status));
    }
    this.show();
  }

  async endChosen() {
    if (!(await endJobs(this.chosenJobs()))) return;
    this.chosen.clear();
    this.show();
  }
}
