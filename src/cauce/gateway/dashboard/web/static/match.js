// Assigns files to tables by name. Pure functions.

const ENDINGS = [".csv", ".csv.gz", ".parquet"];

/**
 * @typedef {{path: string, file: File}} Given
 * @typedef {import("./datasets.js").TableFiles} TableFiles
 */

/** @param {string} path */
export function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The extension of a file that can be sent from here, or "". @param {string} path */
export function endingOf(path) {
  return [...ENDINGS].sort((a, b) => b.length - a.length).find((ending) => path.toLowerCase().endsWith(ending)) ?? "";
}

/** @param {string} path */
function stem(path) {
  return baseName(path).slice(0, baseName(path).length - endingOf(path).length);
}

/** Whether a name matches a pattern such as users_*.csv, with any of the extensions. @param {string} path @param {string} pattern */
export function fits(path, pattern) {
  const wanted = stem(pattern).replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  return endingOf(path) !== "" && new RegExp(`^${wanted}$`).test(stem(path));
}

/**
 * The table that each file is of ("" where none fits). Of a table's alternatives the first that fits anything counts.
 * @param {Given[]} given @param {TableFiles[]} tables
 * @returns {Map<Given, string>}
 */
export function match(given, tables) {
  /** @type {Map<Given, string>} */
  const found = new Map(given.map((each) => [each, ""]));
  for (const table of tables) {
    const pattern = table.files.find((each) => given.some(({ path }) => fits(path, each)));
    if (pattern === undefined) continue;
    for (const each of given) if (fits(each.path, pattern)) found.set(each, table.name);
  }
  return found;
}

/** Files of a table in the order in which they are read. @param {Given[]} given */
export function inOrder(given) {
  return [...given].sort((a, b) => (baseName(a.path) < baseName(b.path) ? -1 : baseName(a.path) > baseName(b.path) ? 1 : 0));
}
