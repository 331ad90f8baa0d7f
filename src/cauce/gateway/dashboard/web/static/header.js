// The first record of a CSV file, which names its columns. A pure function.

const LF = 10;
const CR = 13;
const QUOTE = 34;
const MOST_COLUMNS = 10_000;

/** A file cannot be sent; the message is shown to the user. */
export class BadFile extends Error {}

/** Names are UTF-8. Where they are not, they are Windows-1252, as spreadsheets write them. @param {Uint8Array} record */
function decoderOf(record) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(record);
    const text = new TextDecoder("utf-8", { ignoreBOM: true });
    return (/** @type {Uint8Array} */ bytes) => text.decode(bytes);
  } catch {
    const text = new TextDecoder("windows-1252");
    // Bytes that this encoding leaves undefined.
    return (/** @type {Uint8Array} */ bytes) => text.decode(bytes).replace(/[\x81\x8d\x8f\x90\x9d]/g, "\ufffd");
  }
}

/** The cells of a header; none if the line is empty. @param {Uint8Array} record @param {number} delimiter @param {string} name */
export function headerCells(record, delimiter, name) {
  let end = record.length;
  if (end && record[end - 1] === LF) end -= 1;
  if (end && end < record.length && record[end - 1] === CR) end -= 1;
  if (!end) return [];
  const decoded = decoderOf(record);
  /** @type {string[]} */
  const cells = [];
  let at = 0;
  for (;;) {
    let raw;
    if (record[at] === QUOTE) {
      let close = record.indexOf(QUOTE, at + 1);
      while (close >= 0 && record[close + 1] === QUOTE) close = record.indexOf(QUOTE, close + 2);
      if (close < 0 || (close + 1 < end && record[close + 1] !== delimiter)) {
        throw new BadFile(`the first line of ${name}, which names its columns, has broken quotes`);
      }
      raw = decoded(record.subarray(at + 1, close)).replaceAll('""', '"');
      at = close + 1;
    } else {
      const next = record.indexOf(delimiter, at);
      const stop = next < 0 || next > end ? end : next;
      raw = decoded(record.subarray(at, stop));
      at = stop;
    }
    cells.push(raw);
    if (cells.length > MOST_COLUMNS) throw new BadFile(`the first line of ${name} names more than ${MOST_COLUMNS} columns`);
    if (at >= end) break;
    at += 1;
  }
  if (!cells.some((cell) => cell)) throw new BadFile(`the first line of ${name} has only empty cells: it must name the columns`);
  return cells;
}
