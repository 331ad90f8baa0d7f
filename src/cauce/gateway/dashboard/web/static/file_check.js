// Checks the beginning of a file before it is sent: whether it can belong to its table.

import { Cutter } from "./cut.js";
import { BadFile } from "./header.js";
import { endingOf } from "./match.js";
import { reading } from "./send.js";

const FIRST_BYTES = 4096;
const SHOWN_COLUMNS = 8;
const MAGIC = /** @type {Record<string, number[]>} */ ({ ".parquet": [0x50, 0x41, 0x52, 0x31], ".csv.gz": [0x1f, 0x8b] });

/**
 * @typedef {{text: string, fatal: boolean}} Finding a fatal one means that the file cannot be sent for this table
 * @param {import("./match.js").Given} given @param {import("./datasets.js").TableFiles} table
 * @returns {Promise<Finding | null>} null where nothing is wrong as far as can be seen
 */
export async function checkFile({ path, file }, table) {
  const ending = endingOf(path);
  const first = new Uint8Array(await file.slice(0, FIRST_BYTES).arrayBuffer());
  if (!first.length) return fatal("The file is empty.");
  if (MAGIC[ending] && !MAGIC[ending].every((byte, index) => first[index] === byte)) return fatal(`This is not a ${ending} file, whatever its name.`);
  if (ending === ".parquet") return null;
  if (ending === ".csv" && first.includes(0)) return fatal("This is a binary file, not CSV text.");
  try {
    const { cells } = await new Cutter(reading(path, file), table.delimiter).header(path);
    return compared(cells, table);
  } catch (problem) {
    if (problem instanceof BadFile) return fatal(`${problem.message}.`);
    throw problem;
  }
}

/** @param {string[]} cells @param {import("./datasets.js").TableFiles} table @returns {Finding | null} */
function compared(cells, table) {
  const lacking = table.columns.filter((column) => !cells.includes(column));
  if (!lacking.length) return null;
  const names = listed(lacking);
  if (lacking.length < table.columns.length) return { text: `Columns missing in the first line: ${names}. The service refuses the file if a question needs them.`, fatal: false };
  return fatal(`None of the columns of table ${table.name} is in the first line, which has: ${listed(cells)}. Expected: ${names}.`);
}

/** @param {string[]} names */
function listed(names) {
  const shown = names.slice(0, SHOWN_COLUMNS).map((name) => (name.length > 60 ? `${name.slice(0, 59)}…` : name)).join(", ");
  return names.length > SHOWN_COLUMNS ? `${shown} and ${names.length - SHOWN_COLUMNS} more` : shown;
}

/** @param {string} text @returns {Finding} */
function fatal(text) {
  return { text, fatal: true };
}
