// The facts of a job in words and numbers: above its plan, and table by table.

import { breakable, h, keyed, say, set } from "./dom.js";
import { ago, bytes, count, duration, moment, plural } from "./format.js";
import { datasetWords, timeWords } from "./job_row.js";
import { ENDED, progressOf } from "./progress.js";
import { scroller } from "./scroller.js";

/** @typedef {import("./progress.js").Status} Status */

const HEADS = ["Table", "Received", "Parts", "Read", "Rows", "Rejects"];

/** @param {Element} place @param {Status} status @param {import("./progress.js").Pace} pace @param {number} now */
export function fillFacts(place, status, pace, now) {
  const progress = progressOf(status);
  const left = pace.left(status, now);
  const rate = pace.rate(status, now);
  const speed = ENDED.has(status.state) || status.no_worker || rate <= 0 ? "" : `, ${bytes(rate)}/s`;
  const facts = [
    ["Dataset", `${datasetWords(status)}${status.version ? `, version ${status.version}` : ""}`],
    ["Client", status.owner],
    ["Started", status.created ? `${moment(status.created)} (${ago(now - status.created)})` : ""],
    status.ended === null ? ["Time", timeWords(status, left)] :
      ["Ended", `${moment(status.ended)}, took ${duration(status.ended - status.created)}`],
    ["Read", `${plural(progress.rows, "row")}, ${bytes(progress.bytesRead)}${speed}`],
    ["Kept until", status.expires === null ? "" : moment(status.expires)],
    ...Object.entries(status.parameters),
  ];
  keyed(place, facts.filter(([, value]) => value), ([name]) => name, ([name]) => h("div", {}, h("dt", {}, name), h("dd")),
    (row, [, value]) => say(/** @type {Element} */ (row.lastElementChild), value));
}

/** @param {Element} rows */
export function tablesOf(rows) {
  const head = HEADS.map((name, index) => h(index ? "th.number" : "th", { scope: "col" }, name));
  return scroller("Tables", h("table.compact", {}, h("thead", {}, h("tr", {}, head)), rows));
}

/** @param {Element} rows @param {Status} status */
export function fillTables(rows, status) {
  keyed(rows, Object.entries(status.tables), ([name]) => name,
    ([name, table]) => h("tr", {}, h("th", { scope: "row" }, breakable(table.title || name)), ...Array.from({ length: 5 }, () => h("td.number.nowrap"))),
    (row, [, table]) => {
      const of = table.complete === null ? " so far" : ` of ${count(table.complete)}`;
      [bytes(table.bytes), `${count(table.parts)}${of}`, count(table.parts_read), count(table.rows), count(table.rejects)]
        .forEach((text, index) => say(row.children[index + 1], text));
      set(row.children[1], "title", `${count(table.bytes)} bytes`);
    });
}
