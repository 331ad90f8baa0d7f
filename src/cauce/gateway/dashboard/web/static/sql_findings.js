// The outcome of a check below the editor: the columns of the answers, or the error with its place.

import { h, replace } from "./dom.js";
import { count } from "./format.js";

const MOST_COLUMNS = 12;

/**
 * @typedef {{name: string, columns: {name: string, type: string}[]}} Answer
 * @typedef {import("./sql_tokens.js").Span} Span
 */

export class Findings {
  /** @param {(span: Span) => void} goTo */
  constructor(goTo) {
    this.goTo = goTo;
    this.element = h("div.finding", { id: "sql-finding", role: "status" });
  }

  clear() {
    replace(this.element);
  }

  /** Removes an error that is out of date. */
  settle() {
    if (this.element.querySelector(".error")) this.clear();
  }

  /** @param {Answer[]} answers */
  valid(answers) {
    replace(this.element, answers.map((answer) => h("p.quiet", {}, h("span.tick", { "aria-hidden": "true" }, "✓ "),
      h("strong", {}, answer.name), ` (${columnWords(answer)})`)));
  }

  /** @param {string} text names line and column if there is a span @param {Span | null} [span] */
  wrong(text, span = null) {
    const button = span ? h("button.small-button", { type: "button", onclick: () => this.goTo(span) }, "Go to the error") : null;
    replace(this.element, h("p.error", {}, `${text.slice(0, 1).toUpperCase()}${text.slice(1)} `, button));
  }
}

/** @param {Answer} answer */
function columnWords({ columns }) {
  const shown = columns.slice(0, MOST_COLUMNS).map((column) => `${column.name} ${column.type}`).join(", ");
  return columns.length > MOST_COLUMNS ? `${shown}, … ${count(columns.length - MOST_COLUMNS)} more` : shown;
}
