// An answer, or the rejects: a table with pages, a chart beside it where one fits, and downloads in every form.

import { jobPath, Problem, request, token } from "./api.js";
import { choose } from "./chart_choice.js";
import { draw } from "./chart.js";
import { h, replace, say, set } from "./dom.js";
import { isNumber, parsePage, rounded, shown } from "./exact.js";
import { count, plural } from "./format.js";
import { toast } from "./notices.js";

const PAGE_ROWS = 25;
const MOST_DRAWN = 2000;
const FORMS = ["csv", "json", "parquet", "arrow"];

/**
 * @typedef {{path: string, name: string, forms: string[], empty: string, hint: import("./chart_choice.js").Hint | null}} What
 */

/** @param {string} job @param {string} query @param {import("./chart_choice.js").Hint | null} hint @returns {What} */
export function answerOf(job, query, hint) {
  const path = `${jobPath(job)}/results/${encodeURIComponent(query)}`;
  return { path, name: `${job}-${query}`, forms: FORMS, empty: "No rows.", hint };
}

/** @param {string} job @returns {What} */
export function rejectsOf(job) {
  const empty = "Nothing was rejected: every record could be read.";
  return { path: `${jobPath(job)}/rejects`, name: `${job}-rejects`, forms: ["csv"], empty, hint: null };
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
    /** @type {import("./exact.js").Cell[][] | null} */
    this.drawn = null;
    this.value = "";
    this.loading = false;
    this.table = h("table.rows");
    this.chart = h("div.chart-box");
    this.where = h("span.quiet", { role: "status" });
    this.back = h("button", { type: "button", onclick: () => this.turn(-1) }, "Previous");
    this.next = h("button", { type: "button", onclick: () => this.turn(1) }, "Next");
    this.downloads = h("span.downloads", {}, what.forms.map((form) => this.download(form)));
    this.element = h("div.result", {},
      h("div.bar", {}, this.back, this.next, this.where, h("span.spring"), this.downloads),
      h("div.beside", {},
        h("div.scroll", { tabindex: "0", role: "region", "aria-label": `Rows of ${what.name}` }, this.table), this.chart));
    this.fillControls(false);
  }

  /** Called whenever the job has moved: an answer that is complete and shown is not asked for again. */
  async refresh() {
    const settled = this.page !== null && (this.page.complete || this.page.rows.length >= PAGE_ROWS);
    if (this.loading || (settled && this.page?.complete)) return;
    await this.load();
  }

  /** @param {number} by */
  async turn(by) {
    if (by < 0) this.trail.pop();
    else this.trail.push(this.page?.next ?? null);
    await this.load();
  }

  /** A ranking is drawn page by page; a line has all its points, if they are not too many. @param {import("./exact.js").Page} page */
  async rowsToDraw(page) {
    const kind = this.what.hint?.kind ?? "bars";
    if (kind === "bars" || page.total <= page.rows.length || page.total > MOST_DRAWN) return page.rows;
    if (this.drawn?.length === page.total) return this.drawn;
    return parsePage(await (await this.ask({ limit: String(MOST_DRAWN) })).text()).rows;
  }

  /** @param {Record<string, string>} asked */
  ask(asked) {
    const headers = { Accept: "application/json" };
    return request(`${this.what.path}?${new URLSearchParams(asked)}`, { headers, signal: this.signal });
  }

  async load() {
    this.loading = true;
    try {
      const cursor = this.trail[this.trail.length - 1];
      const response = await this.ask({ limit: String(PAGE_ROWS), ...(cursor ? { cursor } : {}) });
      this.page = parsePage(await response.text());
      this.drawn = await this.rowsToDraw(this.page);
      this.show(this.page);
    } catch (problem) {
      if (!this.signal.aborted) this.fail(problem);
    } finally {
      this.loading = false;
    }
  }

  /** @param {unknown} problem */
  fail(problem) {
    replace(this.table, h("caption.quiet", {}, problem instanceof Problem ? problem.message : String(problem)));
    replace(this.chart);
  }

  /** @param {import("./exact.js").Page} page */
  show(page) {
    const before = (this.trail.length - 1) * PAGE_ROWS;
    const last = before + page.rows.length;
    const all = page.complete ? `of ${count(page.total)}` : `of ${count(page.total)} so far`;
    if (page.rows.length) say(this.where, `${count(before + 1)}–${count(last)} ${all}`);
    else say(this.where, page.complete ? this.what.empty : "No rows yet.");
    this.fillControls(page.rows.length > 0 && last < page.total);
    this.fillTable(page);
    this.fillChart(page);
  }

  /** @param {boolean} more */
  fillControls(more) {
    set(this.back, "disabled", this.trail.length < 2);
    set(this.next, "disabled", !more);
    for (const button of this.downloads.children) set(button, "disabled", !this.page?.complete);
  }

  /** @param {import("./exact.js").Page} page */
  fillTable(page) {
    if (!page.rows.length) return replace(this.table);
    const numeric = page.columns.map((_, index) => page.rows.some((row) => isNumber(row[index])));
    const head = page.columns.map((name, index) => h(numeric[index] ? "th.number" : "th", { scope: "col" }, name));
    const body = page.rows.map((row) =>
      h("tr", {}, row.map((value, index) => h(numeric[index] ? "td.number" : "td", {}, shown(value)))));
    replace(this.table, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body));
  }

  /** @param {import("./exact.js").Page} page */
  fillChart(page) {
    const plain = (this.drawn ?? page.rows).map((row) => row.map(rounded));
    const chosen = choose(this.what.hint, page.columns, plain, this.value);
    replace(this.chart, chosen ? [this.picker(chosen), draw(chosen)] : []);
  }

  /** Which of several numbers is drawn. @param {{kind: string, value?: string}} chosen */
  picker(chosen) {
    const values = this.what.hint?.values ?? [];
    if (chosen.kind === "scatter" || values.length < 2) return h("p.quiet", {}, chosen.value ?? "");
    const change = (/** @type {Event} */ event) => {
      this.value = /** @type {HTMLSelectElement} */ (event.target).value;
      if (this.page) this.fillChart(this.page);
      this.chart.querySelector("select")?.focus();
    };
    const options = values.map((value) => h("option", { value, selected: value === chosen.value }, value));
    return h("label.quiet", {}, "Drawn: ", h("select", { onchange: change }, options));
  }

  /** @param {string} form */
  download(form) {
    return h("button", { type: "button", title: `The whole as ${form}`, onclick: () => this.save(form) }, form);
  }

  /** @param {string} form */
  async save(form) {
    const path = `${this.what.path}?format=${form}`;
    const name = `${this.what.name}.${form}`;
    try {
      if (!token()) return follow(path, name);
      const response = await request(path, { signal: this.signal });
      const address = URL.createObjectURL(await response.blob());
      follow(address, name);
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (problem) {
      toast(problem instanceof Problem ? problem.message : String(problem), "bad");
    }
  }
}

/** @param {string} address @param {string} name */
function follow(address, name) {
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

/** @param {import("./progress.js").Answer} answer */
export function answerWords(answer) {
  return answer.complete ? plural(answer.rows, "row") : answer.rows ? `${count(answer.rows)} rows so far` : "not yet";
}
