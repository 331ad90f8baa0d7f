// The page for a new job: choose a dataset and its queries, drop files, send.

import { Problem } from "./api.js";
import { onRecovery } from "./connection.js";
import { datasets } from "./datasets.js";
import { breakable, h, replace, say, set } from "./dom.js";
import { dropZone } from "./drop_zone.js";
import { checkFile } from "./file_check.js";
import { bytes, plural, stamp } from "./format.js";
import { endingOf, inOrder, match } from "./match.js";
import { toast } from "./notices.js";
import { startUpload } from "./uploads.js";

/** @typedef {import("./match.js").Given} Given */

const LONGEST_ID = 64;

function ownTables() {
  return h("p.quiet", {}, "For tables of your own run ", h("code", {}, "./cauce upload NAME --data FOLDER"),
    " in a terminal, then ask about them on the page ", h("a", { href: "#/sql" }, "SQL"), ".");
}

export class NewPage {
  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.signal = signal;
    /** @type {import("./datasets.js").Dataset[]} */
    this.known = [];
    /** @type {import("./datasets.js").Dataset | null} */
    this.dataset = null;
    /** @type {Given[]} */
    this.files = [];
    /** @type {Map<Given, string>} */
    this.chosen = new Map();
    /** @type {Map<Given, {table: string, finding: import("./file_check.js").Finding | null}>} */
    this.checked = new Map();
    this.choices = h("div.choices", { role: "radiogroup", "aria-labelledby": "choose-dataset" });
    this.queries = h("div.queries");
    this.parameters = h("div.parameters");
    this.fileList = h("div");
    this.missing = h("p.quiet", { role: "status" });
    this.name = /** @type {HTMLInputElement} */ (h("input", { id: "job-name", type: "text", maxlength: LONGEST_ID, required: true,
      pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}", autocomplete: "off", spellcheck: "false" }));
    this.refusal = h("p.error", { role: "alert" });
    this.go = h("button.primary.large", { type: "submit", disabled: true }, "Send and watch");
    this.element = h("section", { "aria-labelledby": "title" }, h("h1", { id: "title" }, "New job"), this.form());
    this.load();
    onRecovery(() => this.known.length || this.load(), signal);
  }

  form() {
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.start();
    };
    return h("form.new", { onsubmit: submit },
      h("section.card", {}, h("h2", { id: "choose-dataset" }, "Dataset"), this.choices, ownTables()),
      h("section.card", {}, h("h2", {}, "Questions"), this.queries, this.parameters),
      h("section.card", {}, h("h2", {}, "Files"), dropZone((given) => this.addFiles(given)), this.fileList, this.missing),
      h("section.card", {}, h("h2", {}, "Send"),
        h("label", { for: "job-name" }, "Id of the job (letters, digits, dots, hyphens, underscores)"), this.name,
        h("p.quiet", {}, "Send the same files under the same id to resume an upload that was interrupted."), this.refusal, this.go));
  }

  async load() {
    try {
      this.known = await datasets(this.signal);
    } catch (problem) {
      if (!this.signal.aborted) replace(this.choices, h("p", {}, problem instanceof Problem ? problem.message : String(problem)));
      return;
    }
    const first = this.known.find((dataset) => !dataset.error);
    replace(this.choices, this.known.map((dataset) => h("label.choice", {},
      h("input", { type: "radio", name: "dataset", value: dataset.name, checked: dataset === first, disabled: Boolean(dataset.error),
        onchange: () => this.choose(dataset) }),
      h("span", {}, h("strong", {}, breakable(dataset.name)),
        h("span.quiet", {}, dataset.error ? `Unavailable: ${dataset.error}` : plural(dataset.queries.length, "question"))))));
    if (first) this.choose(first);
  }

  /** @param {import("./datasets.js").Dataset} dataset */
  choose(dataset) {
    this.dataset = dataset;
    const suffix = `-${stamp(new Date())}`;
    this.name.value = `${dataset.name.replace(/[^\w.-]/g, "_").slice(0, LONGEST_ID - suffix.length)}${suffix}`;
    replace(this.queries, dataset.queries.map((query) => h("label.query", {},
      h("input", { type: "checkbox", name: "query", value: query.name, checked: true, onchange: () => this.show() }),
      h("strong", {}, breakable(query.name)), h("span", {}, query.question))));
    replace(this.parameters, dataset.parameters.map((parameter) => h("label", {}, `${parameter.name} `,
      h("select", { name: parameter.name }, parameter.choices.map((choice) => h("option", { value: choice }, choice))),
      h("span.quiet", {}, ` ${parameter.help}`))));
    this.chosen = match(this.files, dataset.tables);
    this.show();
  }

  /** @param {Given[]} given */
  addFiles(given) {
    const fresh = given.filter((each) => !this.files.some((known) => known.path === each.path));
    this.files.push(...fresh.filter((each) => endingOf(each.path)));
    this.files.sort((a, b) => (a.path < b.path ? -1 : 1));
    const left = fresh.filter((each) => !endingOf(each.path));
    const more = left.length > 5 ? ` and ${left.length - 5} more` : "";
    if (left.length) toast(`Left out: ${left.map((each) => each.path).slice(0, 5).join(", ")}${more}. Only .csv, .csv.gz and .parquet files can be sent from here.`, "bad");
    this.chosen = match(this.files, this.dataset?.tables ?? []);
    this.show();
  }

  asked() {
    return [...this.queries.querySelectorAll("input")].filter((input) => input.checked).map((input) => input.value);
  }

  /** The tables that the chosen queries need. */
  needed() {
    const asked = new Set(this.asked());
    const names = new Set(this.dataset?.queries.filter((query) => asked.has(query.name)).flatMap((query) => query.tables));
    return (this.dataset?.tables ?? []).filter((table) => names.has(table.name));
  }

  show() {
    const needed = this.needed();
    const rows = this.files.map((each) => this.fileRow(each, needed));
    replace(this.fileList, rows.length ? h("ul.files", {}, rows) : null);
    const lacking = needed.filter((table) => ![...this.chosen.values()].includes(table.name));
    const bad = this.files.filter((each) => this.findingOf(each)?.fatal);
    const words = bad.length ? `${plural(bad.length, "file")} cannot be sent: choose another, or leave it out.` : !needed.length ? "Choose at least one question." : lacking.length ?
      `Still needed: ${lacking.map((table) => `${table.name} (${table.files.join(" or ")})`).join(", ")}.` : "All tables have their files.";
    say(this.missing, words);
    this.missing.classList.toggle("error", bad.length > 0);
    set(this.go, "disabled", !needed.length || lacking.length > 0 || bad.length > 0);
    this.check(needed);
  }

  /** @param {Given} each */
  findingOf(each) {
    const checked = this.checked.get(each);
    return checked && checked.table === this.chosen.get(each) ? checked.finding : null;
  }

  /** Checks files whose table has changed. @param {import("./datasets.js").TableFiles[]} needed */
  async check(needed) {
    for (const each of this.files) {
      const table = needed.find((one) => one.name === this.chosen.get(each));
      if (!table || this.checked.get(each)?.table === table.name) continue;
      this.checked.set(each, { table: table.name, finding: null });
      const finding = await checkFile(each, table).catch((problem) => ({ text: `The file cannot be read: ${problem.message}`, fatal: true }));
      this.checked.set(each, { table: table.name, finding });
      if (finding) this.show();
    }
  }

  /** @param {Given} each @param {import("./datasets.js").TableFiles[]} needed */
  fileRow(each, needed) {
    const change = (/** @type {Event} */ event) => {
      this.chosen.set(each, /** @type {HTMLSelectElement} */ (event.target).value);
      this.show();
    };
    const drop = () => {
      this.files = this.files.filter((other) => other !== each);
      this.chosen.delete(each);
      this.show();
    };
    const table = this.chosen.get(each) ?? "";
    const finding = this.findingOf(each);
    const options = ["", ...needed.map((one) => one.name)].map((name) =>
      h("option", { value: name, selected: name === table }, name || "not used"));
    return h("li", {}, h("span.path", {}, each.path), h("span.quiet", {}, bytes(each.file.size)),
      h("label", {}, h("span.visually-hidden", {}, `Table of ${each.path}`), h("select", { onchange: change }, options)),
      h("button.plain", { type: "button", "aria-label": `Leave out ${each.path}`, onclick: drop }, "×"),
      finding ? h(finding.fatal ? "p.error.finding" : "p.warning.finding", {}, finding.text) : null);
  }

  async start() {
    const dataset = /** @type {import("./datasets.js").Dataset} */ (this.dataset);
    const parameters = Object.fromEntries([...this.parameters.querySelectorAll("select")].map((select) => [select.name, select.value]));
    const sources = this.needed().map((table) => ({ name: table.name, delimiter: table.delimiter,
      files: inOrder(this.files.filter((each) => this.chosen.get(each) === table.name)) }));
    set(this.go, "disabled", true);
    say(this.refusal, "");
    try {
      await startUpload({ job: this.name.value, dataset: dataset.name, queries: this.asked(), parameters, sources });
      location.hash = `#/job/${encodeURIComponent(this.name.value)}`;
    } catch (problem) {
      say(this.refusal, problem instanceof Problem ? problem.message : String(problem));
      set(this.go, "disabled", false);
    }
  }
}
