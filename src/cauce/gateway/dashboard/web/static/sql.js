// The page for SQL over kept datasets: tables, editor, history, and the job of the last statements.

import { getJson, jobPath, Problem, sendJson } from "./api.js";
import { h, replace, say, set } from "./dom.js";
import { stamp } from "./format.js";
import { Check } from "./sql_check.js";
import { KeptDatasets } from "./sql_datasets.js";
import { keysNote, SqlEditor } from "./sql_editor.js";
import { Findings } from "./sql_findings.js";
import { draftOf, keepDraft, remember } from "./sql_history.js";
import { SqlJob } from "./sql_job.js";
import { Parameters } from "./sql_parameters.js";
import { PastRuns } from "./sql_past.js";
import { addressOf, howToKeep, notKept, TablesView } from "./sql_tables.js";
import { identifier, spanAt } from "./sql_tokens.js";

const NARROW = "(max-width: 860px)";

/** @typedef {import("./sql_tables.js").Kept} Kept */

export class SqlPage {
  /** @param {string} dataset empty: the first one @param {string} job empty: none @param {AbortSignal} signal */
  constructor(dataset, job, signal) {
    this.dataset = dataset;
    this.job = job;
    this.signal = signal;
    this.watching = new AbortController();
    /** Repeated by a run whose outcome is not known, so that it becomes one job. */
    this.attempt = { body: "", job: "" };
    this.editor = new SqlEditor({ changed: () => this.edited(), run: () => this.run() });
    this.findings = new Findings((span) => this.editor.goTo(span));
    this.parameters = new Parameters(() => this.edited());
    this.check = new Check({ valid: (answers) => this.valid(answers), refused: (problem) => this.refused(problem) }, signal);
    this.tables = new TablesView({ chosen: (name) => (location.hash = addressOf(name)), insert: (word) => this.editor.insert(word) });
    this.past = new PastRuns((run) => this.restore(run));
    this.runButton = h("button.primary", { type: "button", onclick: () => this.run() }, "Run");
    this.place = h("div");
    this.answers = h("div");
    this.element = h("section", { "aria-labelledby": "title" }, h("h1", { id: "title" }, "SQL"), this.place);
    this.bench = this.layout();
    this.datasets = new KeptDatasets({ found: (kept) => this.found(kept), failed: (problem) => this.unavailable(problem) }, signal);
    this.datasets.load();
  }

  layout() {
    const open = !matchMedia(NARROW).matches;
    return h("div.sql", {},
      h("aside.card", { "aria-label": "Tables and history" },
        h("details.kept-tables", { open }, h("summary", {}, "Tables"), this.tables.element), this.past.element),
      h("div.sql-main", {},
        h("section.card", { "aria-labelledby": "sql-label" },
          h("div.bar", {}, h("h2", { id: "sql-label" }, "Statements"), h("span.spring"), this.runButton),
          this.editor.element, this.parameters.element, this.findings.element, keysNote()),
        this.answers));
  }

  /** @param {Kept[]} kept */
  found(kept) {
    const shown = kept.find((each) => each.name === this.dataset) ?? (this.dataset ? null : kept[0]);
    if (shown) this.show(kept, shown);
    else replace(this.place, this.dataset ? notKept(this.dataset, kept) : howToKeep());
    return Boolean(shown?.version);
  }

  /** An editor that is shown stays. @param {unknown} problem */
  unavailable(problem) {
    if (this.bench.isConnected) return;
    const again = problem instanceof Problem && problem.status === 401 ?
      h("button", { type: "button", onclick: () => this.datasets.load() }, "Enter a token") : null;
    const words = problem instanceof Error ? problem.message : String(problem);
    replace(this.place, h("div.empty", {}, h("p.error", { role: "alert" }, words), again));
  }

  /** @param {Kept[]} kept @param {Kept} shown */
  show(kept, shown) {
    const first = !this.bench.isConnected;
    this.dataset = shown.name;
    this.tables.show(kept, shown);
    const [table = "orders"] = Object.keys(shown.tables);
    this.editor.suggest(`SELECT * FROM ${identifier(table)} LIMIT 10`);
    if (!first) return;
    replace(this.place, this.bench);
    const draft = draftOf(this.dataset, this.job);
    this.write(draft);
    this.past.show(this.dataset);
    if (!this.job) return;
    this.watch();
    if (!draft.sql) this.recall();
  }

  /** @param {{sql: string, parameters: Record<string, string>}} text */
  write({ sql, parameters }) {
    this.editor.load(sql);
    this.parameters.load(parameters, sql);
    if (sql.trim()) this.check.later(this.statements());
  }

  /** The statements of a job that another browser has started. */
  async recall() {
    const found = await getJson(`${jobPath(this.job)}/sql`, this.signal).catch(() => null);
    if (found && !this.editor.text) this.write(found);
  }

  statements() {
    return { sql: this.editor.text, on: this.dataset, parameters: this.parameters.given() };
  }

  edited() {
    this.parameters.follow(this.editor.text);
    this.keep();
    if (this.editor.text.trim()) return this.check.later(this.statements());
    this.check.stop();
    this.editor.mark(null);
    this.findings.clear();
  }

  keep() {
    keepDraft(this.dataset, { sql: this.editor.text, parameters: this.parameters.values, job: this.job });
  }

  /** @param {import("./sql_findings.js").Answer[]} answers */
  valid(answers) {
    this.editor.mark(null);
    this.findings.valid(answers);
  }

  /** @param {Problem} problem */
  refused(problem) {
    const { place } = problem;
    const span = place && spanAt(this.editor.text, place.line, place.column);
    this.editor.mark(span);
    this.findings.wrong(problem.message, span);
  }

  async run() {
    this.check.stop();
    if (!this.editor.text.trim()) return this.findings.wrong("Write a statement first.");
    const statements = this.statements();
    const body = JSON.stringify(statements);
    if (this.attempt.body !== body) this.attempt = { body, job: newId() };
    set(this.runButton, "disabled", true);
    say(this.runButton, "Starting…");
    try {
      await sendJson("POST", "/v1/sql", { ...statements, job: this.attempt.job }, this.signal);
      this.started(this.attempt.job, statements);
    } catch (problem) {
      if (this.signal.aborted) return;
      if (!(problem instanceof Problem)) throw problem;
      this.refused(problem);
    } finally {
      set(this.runButton, "disabled", false);
      say(this.runButton, "Run");
    }
  }

  /** @param {string} job @param {import("./sql_check.js").Statements} statements */
  started(job, { sql, parameters }) {
    this.attempt = { body: "", job: "" };
    this.job = job;
    this.editor.mark(null);
    this.findings.settle();
    remember(this.dataset, { sql, parameters, job, at: Date.now() / 1000 });
    this.past.show(this.dataset);
    this.keep();
    history.pushState(null, "", addressOf(this.dataset, job));
    this.watch();
  }

  /** Shows the job instead of an earlier one. */
  watch() {
    this.watching.abort();
    this.watching = new AbortController();
    replace(this.answers, new SqlJob(this.job, AbortSignal.any([this.signal, this.watching.signal])).element);
  }

  /** @param {import("./sql_history.js").Run} run */
  restore(run) {
    this.job = run.job;
    this.parameters.load(run.parameters, run.sql);
    this.editor.retype(run.sql);
    this.keep();
    history.pushState(null, "", addressOf(this.dataset, run.job));
    this.watch();
  }
}

function newId() {
  return `sql-${stamp(new Date())}-${Math.random().toString(36).slice(2, 6).padEnd(4, "0")}`;
}
