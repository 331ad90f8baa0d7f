// Files out of what was dropped on the page, folders with all that is in them.

/** @typedef {import("./match.js").Given} Given */

/** @param {DataTransfer} dropped @returns {Promise<Given[]>} */
export async function collect(dropped) {
  // Entries are there only until the event is over: taken all before the first wait.
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const found = await Promise.all(entries.map((entry) => walk(/** @type {FileSystemEntry} */ (entry), "", true)));
  return found.flat();
}

/** The folder that was dropped is where paths begin. @param {FileSystemEntry} entry @param {string} within @param {boolean} top @returns {Promise<Given[]>} */
async function walk(entry, within, top) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject));
    return [{ path: `${within}${entry.name}`, file: /** @type {File} */ (file) }];
  }
  const inner = top ? "" : `${within}${entry.name}/`;
  const entries = await children(/** @type {FileSystemDirectoryEntry} */ (entry));
  return (await Promise.all(entries.map((each) => walk(each, inner, false)))).flat();
}

/** @param {FileSystemDirectoryEntry} folder @returns {Promise<FileSystemEntry[]>} */
async function children(folder) {
  const reader = folder.createReader();
  /** @type {FileSystemEntry[]} */
  const all = [];
  for (;;) {
    // A reader gives some at a time, and none when it has given all.
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!(/** @type {FileSystemEntry[]} */ (some).length)) return all;
    all.push(.../** @type {FileSystemEntry[]} */ (some));
  }
}
