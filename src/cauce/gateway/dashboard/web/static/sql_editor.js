// A field for SQL: line numbers, colours, and a mark at an error. The text itself is in an ordinary text field; the
// colours are drawn behind it, line by line, in the same font.

import { h, replace, set } from "./dom.js";
import { linesOf } from "./sql_tokens.js";

const INDENT = "  ";

/** @typedef {import("./sql_tokens.js").Span} Span */

export class SqlEditor {
  /** @param {{changed: (text: string) => void, run: () => void}} listener */
  constructor(listener) {
    this.listener = listener;
    /** @type {Span | null} */
    this.wrong = null;
    /** Set by Escape: the next Tab leaves the field. */
    this.leaving = false;
    this.drawn = "";
    /** @type {string[]} what each line shows */
    this.shapes = [];
    this.lines = h("div.editor-lines", { "aria-hidden": "true" });
    this.field = /** @type {HTMLTextAreaElement} */ (h("textarea.editor-field", {
      id: "sql", "aria-labelledby": "sql-label", "aria-describedby": "sql-finding sql-keys", spellcheck: "false", autocomplete: "off",
      autocapitalize: "off", autocorrect: "off", wrap: "soft", rows: 1,
      oninput: () => this.changed(), onblur: () => (this.leaving = false), onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
    }));
    this.element = h("div.editor", { onclick: (/** @type {Event} */ event) => event.target === this.element && this.field.focus() },
      h("div.editor-sheet", {}, this.lines, this.field));
    this.draw();
  }

  get text() {
    return this.field.value;
  }

  /** Replaces the whole text, without an entry for undo. @param {string} text */
  load(text) {
    this.field.value = text;
    this.wrong = null;
    this.draw();
  }

  /** Replaces the whole text as if it were typed: undo brings the earlier one back. @param {string} text */
  retype(text) {
    this.field.focus();
    this.field.select();
    this.type(text);
  }

  /** Inserts a word at the cursor, apart from its neighbours. @param {string} word */
  insert(word) {
    this.field.focus();
    const { value, selectionStart, selectionEnd } = this.field;
    const before = /[\p{L}\p{N}_"),]$/u.test(value.slice(0, selectionStart)) ? " " : "";
    const after = /^[\p{L}\p{N}_"(]/u.test(value.slice(selectionEnd)) ? " " : "";
    this.type(`${before}${word}${after}`);
  }

  /** @param {string} example shown while the field is empty */
  suggest(example) {
    set(this.field, "placeholder", example);
  }

  /** @param {Span | null} span */
  mark(span) {
    this.wrong = span;
    set(this.field, "aria-invalid", span ? "true" : null);
    this.draw();
  }

  /** @param {Span} span */
  goTo(span) {
    this.field.focus();
    this.field.setSelectionRange(span.from, span.to);
  }

  changed() {
    // The mark stays where the text up to it is the same.
    if (this.wrong && !this.text.startsWith(this.drawn.slice(0, this.wrong.to))) this.mark(null);
    else this.draw();
    this.listener.changed(this.text);
  }

  /** Draws the lines that have changed. */
  draw() {
    this.drawn = this.text;
    const lines = linesOf(this.text, this.wrong);
    const shapes = lines.map((pieces) => JSON.stringify(pieces));
    lines.forEach((pieces, index) => {
      if (this.shapes[index] === shapes[index]) return;
      const line = this.lines.children[index] ?? this.lines.appendChild(h("div.editor-line"));
      replace(line, pieces.map((piece) => h(`span.sql-${piece.kind}${piece.wrong ? ".wrong" : ""}`, {}, piece.text)));
    });
    while (this.lines.children.length > lines.length) this.lines.lastElementChild?.remove();
    this.shapes = shapes;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.listener.run();
    } else if (event.key === "Tab" && !this.leaving && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      this.indent(event.shiftKey);
    }
    if (event.key !== "Shift") this.leaving = event.key === "Escape";
  }

  /** Indents at the cursor, or all lines of the selection. @param {boolean} less */
  indent(less) {
    const { value, selectionStart, selectionEnd } = this.field;
    if (!less && selectionStart === selectionEnd) return this.type(INDENT);
    const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
    const lines = value.slice(from, selectionEnd);
    const changed = less ? lines.replace(/^ {1,2}/gm, "") : lines.replace(/^(?=.)/gm, INDENT);
    if (changed === lines) return;
    this.field.setSelectionRange(from, selectionEnd);
    this.type(changed);
    if (lines.includes("\n")) this.field.setSelectionRange(from, from + changed.length);
  }

  /** Types over the selection, so that undo works as for a person's typing. @param {string} text */
  type(text) {
    const command = text ? "insertText" : "delete";
    // No other way keeps the history of undo in a text field.
    if (document.execCommand(command, false, text)) return;
    this.field.setRangeText(text, this.field.selectionStart, this.field.selectionEnd, "end");
    this.changed();
  }
}

/** The keys in words. */
export function keysNote() {
  const command = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
  const note = h("p.quiet.small", { id: "sql-keys" });
  replace(note, h("kbd", {}, `${command}+Enter`), " runs. ", h("kbd", {}, "Tab"), " indents; ",
    h("kbd", {}, "Esc"), ", then ", h("kbd", {}, "Tab"), " leaves the editor.");
  return note;
}
