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

  /** @param {Answer[]} answers */
  valid(answers) {
    replace(this.element, answers.map((answer) => h("p.quiet", {}, h("span.tick", { "aria-hidden": "true" }, "✓ "),
      h("strong", {}, answer.name), ` (${columnWords(answer)})`)));
  }

  /** @param {string} text @param {{line: number, column: number} | null} [place] @param {Span | null} [span] */
  wrong(text, place = null, span = null) {
    const button = place && span ? h("button.small-button", { type: "button", title: "Go to this place in the editor",
      onclick: () => this.goTo(span) }, `line ${place.line}, column ${place.column}`) : null;
    replace(this.element, h("p.error", {}, button, button ? " " : null, text));
  }
}

/** @param {Answer} answer */
function columnWords({ columns }) {
  const shown = columns.slice(0, MOST_COLUMNS).map((column) => `${column.name} ${column.type}`).join(", ");
  return columns.length > MOST_COLUMNS ? `${shown}, … ${count(columns.length - MOST_COLUMNS)} more` : shown;
}
