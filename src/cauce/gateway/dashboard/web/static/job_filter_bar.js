// The controls that filter the list of jobs: text, dataset, client, dates and state.

import { h, replace, say, set } from "./dom.js";
import { count } from "./format.js";
import { choicesOf, countsOf, datasetOf, queryOf, STATES } from "./job_filter.js";

/** @typedef {import("./job_filter.js").Filter} Filter */
/** @typedef {import("./progress.js").Status} Status */

export class FilterBar {
  /** @param {(change: Partial<Filter>) => void} changed @param {() => void} cleared */
  constructor(changed, cleared) {
    const take = (/** @type {keyof Filter} */ name) => (/** @type {Event} */ event) =>
      changed({ [name]: /** @type {HTMLInputElement} */ (event.target).value, page: 0 });
    this.text = field("search", { placeholder: "Search by id, dataset or query", "aria-label": "Search jobs", autocomplete: "off", spellcheck: "false", oninput: take("text") });
    this.dataset = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": "Dataset", onchange: take("dataset") }));
    this.owner = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": "Client", onchange: take("owner") }));
    this.from = field("date", { "aria-label": "Started on or after", onchange: take("from") });
    this.to = field("date", { "aria-label": "Started on or before", onchange: take("to") });
    this.clear = h("button.plain.clear", { type: "button", onclick: cleared }, "Clear filters");
    this.chips = h("div.segments", { role: "group", "aria-label": "Jobs by state" }, STATES.map(([state]) =>
      h("button.segment", { type: "button", "data-state": state, onclick: () => changed({ state, page: 0 }) }, h("span"), h("span.segment-count"))));
    this.element = h("div.filters", {}, h("div.filter-row", {}, this.text, this.dataset, this.owner,
      h("span.dates", {}, this.from, h("span.quiet", { "aria-hidden": "true" }, "–"), this.to), this.clear), this.chips);
  }

  /** @param {Iterable<Status>} jobs @param {Filter} filter */
  show(jobs, filter) {
    const all = [...jobs];
    this.fill(this.dataset, "All datasets", choicesOf(all, datasetOf), filter.dataset);
    const owners = choicesOf(all, (status) => status.owner);
    this.fill(this.owner, "All clients", owners, filter.owner);
    // One sees only one's own jobs, but for the operator.
    set(this.owner, "hidden", owners.length < 2 && !filter.owner);
    for (const [input, value] of /** @type {[HTMLInputElement, string][]} */ ([[this.text, filter.text], [this.from, filter.from], [this.to, filter.to]])) {
      if (input.value !== value && document.activeElement !== input) input.value = value;
      input.classList.toggle("given", Boolean(value));
    }
    set(this.clear, "hidden", !queryOf(filter));
    countsOf(all, filter).forEach((many, index) => {
      const chip = this.chips.children[index];
      say(chip.children[0], STATES[index][1]);
      say(chip.children[1], ` ${count(many)}`);
      set(chip, "aria-pressed", String(STATES[index][0] === filter.state));
      chip.classList.toggle("alarming", STATES[index][0] === "failed" && many > 0);
    });
  }

  /** @param {HTMLSelectElement} select @param {string} all @param {string[]} choices @param {string} chosen */
  fill(select, all, choices, chosen) {
    const wanted = chosen && !choices.includes(chosen) ? [...choices, chosen] : choices;
    if (wanted.join("\n") !== select.getAttribute("data-choices")) {
      set(select, "data-choices", wanted.join("\n"));
      replace(select, h("option", { value: "" }, all), wanted.map((name) => h("option", { value: name }, name)));
    }
    if (select.value !== chosen) select.value = chosen;
  }
}

/** @param {string} type @param {Record<string, any>} attributes */
function field(type, attributes) {
  return /** @type {HTMLInputElement} */ (h("input", { type, ...attributes }));
}
