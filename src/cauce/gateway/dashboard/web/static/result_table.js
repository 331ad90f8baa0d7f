// The rows of an answer as a table: readable numbers, with the exact values in tooltips and copied text.

import { isDate } from "./chart_time.js";
import { breakable, h, replace } from "./dom.js";
import { isNumber, shown } from "./exact.js";
import { isNaming, readable } from "./numbers.js";

const LONG_LETTERS = 24;

/** @param {HTMLElement} table @param {import("./exact.js").Page} page */
export function fillTable(table, page) {
  if (!page.rows.length) return replace(table);
  const numeric = page.columns.map((_, index) => page.rows.some((row) => isNumber(row[index])));
  const head = page.columns.map((name, index) => h(numeric[index] ? "th.number" : "th", { scope: "col" }, breakable(name)));
  const naming = page.columns.map(isNaming);
  const body = page.rows.map((row) => h("tr", {}, row.map((value, index) => cellOf(value, numeric[index], naming[index]))));
  replace(table, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body));
}

/** @param {import("./exact.js").Cell} value @param {boolean} numeric @param {boolean} naming */
function cellOf(value, numeric, naming) {
  const exact = shown(value);
  // The word NULL comes from the style sheet: copied cells stay empty.
  if (value === null) return h(numeric ? "td.null.number" : "td.null");
  if (!isNumber(value)) return h(numeric ? "td.number" : isDate(exact) ? "td.date" : exact.length > LONG_LETTERS ? "td.long" : "td", {}, exact);
  const text = readable(exact, naming);
  const shortened = text.replaceAll(",", "") !== exact;
  return h(shortened ? "td.number.shortened" : "td.number", text === exact ? {} : { title: exact, "data-exact": exact }, text);
}

/** Whole cells are copied with their exact values. @param {ClipboardEvent} event */
export function copyExact(event) {
  const selection = document.getSelection();
  if (!selection?.rangeCount || !event.clipboardData) return;
  const copied = selection.getRangeAt(0).cloneContents();
  const rows = [...copied.querySelectorAll("tr")];
  const cell = closestCell(selection.anchorNode);
  if (rows.length) {
    const lines = rows.map((row) => [...row.children].map(exactText).join("\t"));
    event.clipboardData.setData("text/plain", lines.join("\n"));
  } else if (cell?.hasAttribute("data-exact") && selection.toString().trim() === cell.textContent) {
    event.clipboardData.setData("text/plain", exactText(cell));
  } else return;
  event.preventDefault();
}

/** @param {Node | null} node */
function closestCell(node) {
  return (node instanceof Element ? node : node?.parentElement)?.closest("td") ?? null;
}

/** @param {Element} cell */
function exactText(cell) {
  return cell.getAttribute("data-exact") ?? cell.textContent ?? "";
}
