// A new job from the browser: choose a dataset and its queries, drop files, and watch.

import { Problem } from "./api.js";
import { datasets } from "./datasets.js";
import { h, replace, say, set } from "./dom.js";
import { collect } from "./dropped.js";
import { bytes, plural } from "./format.js";
import { endingOf, inOrder, match } from "./match.js";
import { toast } from "./notices.js";
import { startUpload } from "./uploads.js";

/** @typedef {import("./match.js").Given} Given */

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
    this.choices = h("div.choices", { role: "radiogroup", "aria-labelledby": "choose-dataset" });
    this.queries = h("div.queries");
    this.parameters = h("div.parameters");
    this.fileList = h("div");
    this.missing = h("p.quiet", { role: "status" });
    this.name = /** @type {HTMLInputElement} */ (h("input", { id: "job-name", type: "text", maxlength: 64,
      pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}", autocomplete: "off", spellcheck: "false" }));
    this.go = h("button.primary.large", { type: "submit", disabled: true }, "Send and watch");
    this.element = h("section", { "aria-labelledby": "title" }, h("h1", { id: "title" }, "New job"), this.form());
    this.load();
  }

  form() {
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.start();
    };
    return h("form.new", { onsubmit: submit },
      h("section.card", {}, h("h2", { id: "choose-dataset" }, "Dataset"), this.choices),
      h("section.card", {}, h("h2", {}, "Questions"), this.queries, this.parameters),
      h("section.card", {}, h("h2", {}, "Files"), this.dropZone(), this.fileList, this.missing),
      h("section.card", {}, h("h2", {}, "Send"),
        h("label", { for: "job-name" }, "Id of the job (letters, digits, dots, hyphens, underscores)"), this.name,
        h("p.quiet", {}, "The same files under the same id go on where an upload was broken off."), this.go));
  }

  dropZone() {
    const take = async (/** @type {Given[]} */ given) => this.addFiles(given);
    const picked = (/** @type {Event} */ event) => {
      const input = /** @type {HTMLInputElement} */ (event.target);
      take([...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath.split("/").slice(1).join("/") || file.name, file })));
      input.value = "";
    };
    const files = h("input.hidden-input", { type: "file", multiple: true, id: "pick-files", onchange: picked });
    const folder = h("input.hidden-input", { type: "file", webkitdirectory: true, id: "pick-folder", onchange: picked });
    const zone = h("div.drop", {
      ondragover: (/** @type {DragEvent} */ event) => {
        event.preventDefault();
        zone.classList.add("over");
      },
      ondragleave: () => zone.classList.remove("over"),
      ondrop: async (/** @type {DragEvent} */ event) => {
        event.preventDefault();
        zone.classList.remove("over");
        if (event.dataTransfer) take(await collect(event.dataTransfer));
      },
    }, h("p", {}, "Drop files or a folder here, or choose"),
    h("div.bar.centre", {}, files, h("label.button", { for: "pick-files" }, "Files"), folder, h("label.button", { for: "pick-folder" }, "A folder")));
    return zone;
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
      h("span", {}, h("strong", {}, dataset.name),
        h("span.quiet", {}, dataset.error ? `Unavailable: ${dataset.error}` : plural(dataset.queries.length, "question"))))));
    if (first) this.choose(first);
  }

  /** @param {import("./datasets.js").Dataset} dataset */
  choose(dataset) {
    this.dataset = dataset;
    this.name.value = `${dataset.name}-${stamp(new Date())}`;
    replace(this.queries, dataset.queries.map((query) => h("label.query", {},
      h("input", { type: "checkbox", name: "query", value: query.name, checked: true, onchange: () => this.show() }),
      h("strong", {}, query.name), h("span", {}, query.question))));
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
    if (left.length) toast(`Not taken: ${left.map((each) => each.path).slice(0, 5).join(", ")}. From here .csv, .csv.gz and .parquet can be sent.`, "bad");
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
    const words = !needed.length ? "Choose at least one question." : lacking.length ?
      `Still needed: ${lacking.map((table) => `${table.name} (${table.files.join(" or ")})`).join(", ")}.` : "All tables have their files.";
    say(this.missing, words);
    set(this.go, "disabled", !needed.length || lacking.length > 0);
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
    const options = ["", ...needed.map((one) => one.name)].map((name) =>
      h("option", { value: name, selected: name === table }, name || "not used"));
    return h("li", {}, h("span.path", {}, each.path), h("span.quiet", {}, bytes(each.file.size)),
      h("label", {}, h("span.visually-hidden", {}, `Table of ${each.path}`), h("select", { onchange: change }, options)),
      h("button.plain", { type: "button", "aria-label": `Leave out ${each.path}`, onclick: drop }, "×"));
  }

  async start() {
    const dataset = /** @type {import("./datasets.js").Dataset} */ (this.dataset);
    const parameters = Object.fromEntries([...this.parameters.querySelectorAll("select")].map((select) => [select.name, select.value]));
    const sources = this.needed().map((table) => ({ name: table.name, delimiter: table.delimiter,
      files: inOrder(this.files.filter((each) => this.chosen.get(each) === table.name)) }));
    set(this.go, "disabled", true);
    try {
      await startUpload({ job: this.name.value, dataset: dataset.name, queries: this.asked(), parameters, sources });
      location.hash = `#/job/${encodeURIComponent(this.name.value)}`;
    } catch (problem) {
      toast(problem instanceof Problem ? problem.message : String(problem), "bad");
      set(this.go, "disabled", false);
    }
  }
}

/** @param {Date} moment */
function stamp(moment) {
  const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
  return `${two(moment.getMonth() + 1)}${two(moment.getDate())}-${two(moment.getHours())}${two(moment.getMinutes())}${two(moment.getSeconds())}`;
}
