// The kept datasets: a choice of one, and its tables with columns and types. A click inserts a name into the editor.

import { token } from "./api.js";
import { breakable, commandLine, h, replace, say } from "./dom.js";
import { bytes, moment, plural } from "./format.js";
import { identifier } from "./sql_tokens.js";

const FEW_COLUMNS = 40;

/**
 * @typedef {{name: string, type: string}} Column
 * @typedef {{parts: number, bytes: number, complete: number | null, columns: Column[]}} KeptTable `complete` is the
 *   number of parts of the current version, null before the first
 * @typedef {{name: string, owner: string, version: number, created: number, expires: number, bytes: number,
 *   tables: Record<string, KeptTable>}} Kept
 */

export class TablesView {
  /** @param {{chosen: (name: string) => void, insert: (word: string) => void}} listener */
  constructor(listener) {
    this.listener = listener;
    this.shape = "";
    this.select = /** @type {HTMLSelectElement} */ (h("select", { id: "sql-on", onchange: () => listener.chosen(this.select.value) }));
    this.about = h("p.quiet.small");
    this.list = h("div");
    this.hint = h("p.quiet.small");
    this.element = h("div", {}, h("label.on", {}, h("span.small.quiet", {}, "Dataset"), this.select), this.about, this.list, this.hint);
  }

  /** Drawn again only after a change, so that what is open and has the focus stays. @param {Kept[]} kept @param {Kept} shown */
  show(kept, shown) {
    const shape = JSON.stringify([kept, shown.name]);
    if (shape === this.shape) return;
    this.shape = shape;
    replace(this.select, kept.map((each) => h("option", { value: each.name, selected: each === shown }, each.name)));
    this.select.value = shown.name;
    const tables = Object.entries(shown.tables);
    const version = shown.version ? `Version ${shown.version}` : "Upload not finished";
    say(this.about, `${version}: ${plural(tables.length, "table")}, ${bytes(shown.bytes)}, kept until ${moment(shown.expires)}`);
    const few = tables.reduce((sum, [, table]) => sum + table.columns.length, 0) <= FEW_COLUMNS;
    replace(this.hint, "To add files: ", commandLine(`./cauce upload ${shown.name} --data FOLDER`));
    replace(this.list, tables.map(([name, table], index) => this.table(name, table, few || !index)));
  }

  /** @param {string} name @param {KeptTable} table @param {boolean} open */
  table(name, table, open) {
    const note = table.complete === null ? h("span.warning.small", {}, "upload not finished") : null;
    return h("details.kept-table", { open }, h("summary", {}, breakable(name), " ", h("span.quiet.small", {}, bytes(table.bytes)), note),
      h("ul.columns", {}, h("li", {}, this.button(name, `Insert table ${name}`, breakable(name)), h("span.quiet.small", {}, "table")),
        table.columns.map((column) => h("li", {}, this.button(column.name, `Insert column ${column.name}`, breakable(column.name)),
          h("span.quiet.small", {}, column.type)))));
  }

  /** @param {string} name @param {string} title @param {any} label */
  button(name, title, label) {
    return h("button.name", { type: "button", title, onclick: () => this.listener.insert(identifier(name)) }, label);
  }
}

/** How to keep files, for a service that keeps none. */
export function howToKeep() {
  return h("div.card", {}, h("h2", {}, "No dataset is kept yet"),
    h("p", {}, "Keep the files of a folder in the service under a name, then ask as many questions as you like without sending them again. In a terminal:"),
    h("pre", {}, `${token() ? "CAUCE_TOKEN=… " : ""}./cauce upload shop --data FOLDER --gateway ${location.origin}`),
    h("p.quiet", {}, "Each file becomes a table: ", h("code", {}, "orders.csv"), " is ", h("code", {}, "orders"),
      ". The types of its columns are inferred. This page shows the dataset as soon as it is there."));
}

/** @param {string} name @param {Kept[]} kept the others */
export function notKept(name, kept) {
  const others = kept.map((each) => h("li", {}, h("a", { href: addressOf(each.name) }, each.name)));
  return h("div.card", {}, h("p.error", { role: "alert" }, `There is no kept dataset ${name}: it was dropped, or has expired.`),
    others.length ? h("p", {}, "There are:") : howToKeep(), h("ul", {}, others));
}

/** The address of the SQL page. @param {string} dataset @param {string} [job] */
export function addressOf(dataset, job = "") {
  return `#/sql/${encodeURIComponent(dataset)}${job ? `/${encodeURIComponent(job)}` : ""}`;
}
