// Collects dropped files, with the contents of dropped folders.

/** @typedef {import("./match.js").Given} Given */

/** @param {DataTransfer} dropped @returns {Promise<Given[]>} */
export async function collect(dropped) {
  // Entries are valid only during the event: collect all before the first await.
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const found = await Promise.all(entries.map((entry) => walk(/** @type {FileSystemEntry} */ (entry), "", true)));
  return found.flat();
}

/** Paths are relative to the dropped folder. @param {FileSystemEntry} entry @param {string} within @param {boolean} top @returns {Promise<Given[]>} */
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
    // A reader returns entries in batches, and an empty batch at the end.
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!(/** @type {FileSystemEntry[]} */ (some).length)) return all;
    all.push(.../** @type {FileSystemEntry[]} */ (some));
  }
}
