// An answer, or the rejects: a paged table, a chart if one fits, and downloads in every format.

import { jobPath, Problem, request } from "./api.js";
import { choose, firstValues, limitOf, MOST_BARS, recognised } from "./chart_choice.js";
import { draw } from "./chart.js";
import { h, replace, say, set } from "./dom.js";
import { downloadButtons } from "./downloads.js";
import { parsePage, rounded } from "./exact.js";
import { count, plural } from "./format.js";
import { toast } from "./notices.js";
import { ENDED } from "./progress.js";
import { copyExact, fillTable } from "./result_table.js";
import { scroller } from "./scroller.js";

const PAGE_ROWS = 25;
const FORMS = ["csv", "json", "parquet", "arrow"];

/**
 * @typedef {{path: string, name: string, forms: string[], empty: string, unfinished: string}} What
 */

/** @param {string} job @param {string} query @returns {What} */
export function answerOf(job, query) {
  const path = `${jobPath(job)}/results/${encodeURIComponent(query)}`;
  return { path, name: `${job}-${query}`, forms: FORMS, empty: "No rows.", unfinished: "The job ended before this was computed." };
}

/** @param {string} job @returns {What} */
export function rejectsOf(job) {
  const empty = "No record was rejected.";
  return { path: `${jobPath(job)}/rejects`, name: `${job}-rejects`, forms: ["csv"], empty, unfinished: "No record was rejected before the job ended." };
}

export class ResultView {
  /** @param {What} what @param {AbortSignal} signal */
  constructor(what, signal) {
    this.what = what;
    this.signal = signal;
    /** @type {(string | null)[]} cursors of the pages up to the one shown */
    this.trail = [null];
    /** @type {import("./exact.js").Page | null} */
    this.page = null;
    /** @type {{rows: import("./exact.js").Cell[][], total: number} | null} */
    this.drawn = null;
    /** The numbers that the person has chosen to draw. @type {string[]} */
    this.values = [];
    /** @type {string[]} */
    this.shownValues = [];
    this.drawnWidth = 0;
    this.loading = false;
    this.ended = false;
    this.table = h("table.rows", { oncopy: copyExact });
    this.chart = h("div.chart-box");
    this.where = h("span.quiet", { role: "status" });
    this.back = h("button", { type: "button", onclick: () => this.turn(this.trail.slice(0, -1)) }, "Previous");
    this.next = h("button", { type: "button", onclick: () => this.turn([...this.trail, this.page?.next ?? null]) }, "Next");
    this.downloads = downloadButtons(what, signal);
    this.element = h("div.result", {},
      h("div.bar", {}, this.back, this.next, this.where, h("span.spring"), this.downloads),
      h("div.beside", {}, scroller(`Rows of ${what.name}`, this.table), this.chart));
    this.fillControls(false);
    const watch = new ResizeObserver(() => requestAnimationFrame(() => this.redraw()));
    watch.observe(this.element);
    signal.addEventListener("abort", () => watch.disconnect());
  }

  /** Called on every status change. An answer that is complete and shown is not requested again.
   * @param {import("./progress.js").Status} status */
  async refresh(status) {
    this.ended = ENDED.has(status.state);
    if (this.loading || this.page?.complete) return;
    await this.load(this.trail).catch((problem) => this.signal.aborted || this.fail(problem));
  }

  /** If a page cannot be loaded, the current one stays. @param {(string | null)[]} trail */
  async turn(trail) {
    await this.load(trail).catch((problem) => this.signal.aborted || toast(wordsOf(problem), "bad"));
  }

  /** The chart shows the first rows of the whole answer, whatever page the table shows. @param {import("./exact.js").Page} page */
  async rowsToDraw(page) {
    if (page.chart === null) return { rows: [], total: 0 };
    if (this.drawn?.total === page.total) return this.drawn;
    if (page.total <= page.rows.length) return { rows: page.rows, total: page.total };
    const whole = parsePage(await (await this.ask({ limit: String(limitOf(page.chart)) })).text());
    return { rows: whole.rows, total: whole.total };
  }

  /** @param {Record<string, string>} asked */
  ask(asked) {
    const headers = { Accept: "application/json" };
    return request(`${this.what.path}?${new URLSearchParams(asked)}`, { headers, signal: this.signal });
  }

  /** @param {(string | null)[]} trail */
  async load(trail) {
    this.loading = true;
    try {
      const cursor = trail[trail.length - 1];
      const response = await this.ask({ limit: String(PAGE_ROWS), ...(cursor ? { cursor } : {}) });
      const page = parsePage(await response.text());
      this.drawn = await this.rowsToDraw(page);
      this.trail = trail;
      this.page = page;
      this.show(page);
    } finally {
      this.loading = false;
    }
  }

  /** @param {unknown} problem */
  fail(problem) {
    if (this.page === null) replace(this.table, h("caption.error", {}, wordsOf(problem)));
  }

  /** @param {import("./exact.js").Page} page */
  show(page) {
    const before = (this.trail.length - 1) * PAGE_ROWS;
    const last = before + page.rows.length;
    const all = page.complete || this.ended ? `of ${count(page.total)}` : `of ${count(page.total)} so far`;
    if (page.rows.length) say(this.where, `${count(before + 1)}–${count(last)} ${all}`);
    else say(this.where, page.complete ? this.what.empty : this.ended ? this.what.unfinished : "No rows yet.");
    this.fillControls(page.rows.length > 0 && last < page.total);
    fillTable(this.table, page);
    this.fillChart(page);
  }

  /** @param {boolean} more */
  fillControls(more) {
    set(this.back, "disabled", this.trail.length < 2);
    set(this.next, "disabled", !more);
    for (const button of this.downloads.children) set(button, "disabled", !this.page?.complete);
  }

  /** @param {import("./exact.js").Page} page */
  fillChart(page) {
    const { rows, total } = this.drawn ?? { rows: page.rows, total: page.total };
    const values = rows.map((row) => row.map(rounded));
    const chosen = choose(page.chart, page.columns, values, this.values);
    this.element.classList.toggle("with-lines", chosen?.kind === "line");
    const many = chosen?.kind === "bars" ? Math.min(rows.length, MOST_BARS) : rows.length;
    const note = many < total ? h("p.chart-note", {}, `The chart shows the first ${count(many)} of ${plural(total, "row")}.`) : null;
    if (!chosen || !page.chart) return replace(this.chart);
    const hint = recognised(page.chart, page.columns, values);
    this.shownValues = chosen.kind === "scatter" ? [] : this.values.length ? this.values : firstValues(hint, page.columns, values);
    replace(this.chart, this.picker(chosen, hint), note, h("div"));
    this.drawnWidth = this.chart.clientWidth;
    this.chart.lastElementChild?.replaceWith(draw(chosen, this.drawnWidth));
  }

  /** Draws the chart again if its place has another width. */
  redraw() {
    if (this.page && this.chart.clientWidth && this.chart.clientWidth !== this.drawnWidth) this.fillChart(this.page);
  }

  /** Which of several numbers are drawn: one, if they are split by a column; else any. @param {{kind: string}} chosen @param {import("./chart_choice.js").Hint} hint */
  picker(chosen, hint) {
    const { values } = hint;
    if (chosen.kind === "scatter") return null;
    if (values.length < 2) return h("p.quiet.chart-title", {}, `Chart of ${values[0]}`, hint.series ? ` by ${hint.series}` : "");
    if (hint.series !== null) {
      const change = (/** @type {Event} */ event) => this.pick([/** @type {HTMLSelectElement} */ (event.target).value], "select");
      const options = values.map((value) => h("option", { value, selected: value === this.shownValues[0] }, value));
      return h("label.quiet.chart-title", {}, "Chart of ", h("select", { onchange: change }, options), ` by ${hint.series}`);
    }
    const toggle = (/** @type {string} */ value) => {
      const without = this.shownValues.filter((each) => each !== value);
      const more = this.shownValues.includes(value) ? without : values.filter((each) => each === value || this.shownValues.includes(each));
      this.pick(more.length ? more : [value], `[data-value="${CSS.escape(value)}"]`);
    };
    return h("div.chart-title", { role: "group", "aria-label": "Chart of" }, h("span.quiet", {}, "Chart of"), values.map((value) =>
      h("button.chip", { type: "button", "data-value": value, title: value, "aria-pressed": String(this.shownValues.includes(value)), onclick: () => toggle(value) }, value)));
  }

  /** @param {string[]} values @param {string} control that keeps the focus */
  pick(values, control) {
    this.values = values;
    if (this.page) this.fillChart(this.page);
    /** @type {HTMLElement | null} */ (this.chart.querySelector(control))?.focus();
  }
}

/** @param {unknown} problem */
function wordsOf(problem) {
  return problem instanceof Problem ? problem.message : String(problem);
}

/** @param {import("./progress.js").Answer} answer @param {boolean} ended */
export function answerWords(answer, ended) {
  if (answer.complete) return plural(answer.rows, "row");
  if (ended) return answer.rows ? `${plural(answer.rows, "row")}, incomplete` : "not computed";
  return answer.rows ? `${plural(answer.rows, "row")} so far` : "not yet";
}
