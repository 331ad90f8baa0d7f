// A field for each parameter that the statements name, such as $year. One that is left empty has its default.

import { h, keyed, set } from "./dom.js";
import { parametersIn } from "./sql_tokens.js";

export class Parameters {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    /** @type {Record<string, string>} also of parameters that are not named at the moment */
    this.values = {};
    /** @type {string[]} */
    this.names = [];
    this.element = h("div.sql-parameters", { role: "group", "aria-label": "Parameters", hidden: true });
  }

  /** @param {string} sql */
  follow(sql) {
    this.names = parametersIn(sql);
    set(this.element, "hidden", !this.names.length);
    keyed(this.element, this.names, (name) => name, (name) => h("label", {}, h("code", {}, `$${name}`),
      h("input", { type: "text", name, value: this.values[name] ?? "", placeholder: "default", autocomplete: "off", spellcheck: "false",
        oninput: (/** @type {Event} */ event) => this.put(name, /** @type {HTMLInputElement} */ (event.target).value) })));
  }

  /** @param {string} name @param {string} value */
  put(name, value) {
    this.values[name] = value;
    this.changed();
  }

  /** @param {Record<string, string>} values @param {string} sql */
  load(values, sql) {
    this.values = { ...values };
    this.element.replaceChildren();
    this.follow(sql);
  }

  /** Those that are named and filled in. */
  given() {
    return Object.fromEntries(this.names.filter((name) => this.values[name]).map((name) => [name, this.values[name]]));
  }
}
