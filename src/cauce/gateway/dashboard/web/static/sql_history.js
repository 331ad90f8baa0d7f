// Statements that were run, by dataset: kept in this browser, bounded, newest first. The text being edited is kept
// until the tab is closed.

const RUNS = "cauce-sql-history";
const DRAFTS = "cauce-sql-drafts";
export const MOST_RUNS = 50;
const MOST_DATASETS = 20;
const MOST_LETTERS = 400_000;

/**
 * @typedef {{sql: string, parameters: Record<string, string>, job: string, at: number}} Run
 * @typedef {{sql: string, parameters: Record<string, string>, job: string}} Draft
 */

/** @param {string} dataset @returns {Run[]} */
export function runsOf(dataset) {
  return read(localStorage, RUNS)[dataset] ?? [];
}

/** Puts a run first. The same statement with the same parameters is kept once. @param {string} dataset @param {Run} run */
export function remember(dataset, run) {
  const { [dataset]: before = [], ...others } = read(localStorage, RUNS);
  const same = (/** @type {Run} */ each) => each.sql === run.sql && JSON.stringify(each.parameters) === JSON.stringify(run.parameters);
  const runs = bounded([run, ...before.filter((/** @type {Run} */ each) => !same(each))]);
  write(localStorage, RUNS, Object.fromEntries([[dataset, runs], ...Object.entries(others)].slice(0, MOST_DATASETS)));
}

/** @param {string} dataset */
export function forget(dataset) {
  const { [dataset]: _, ...others } = read(localStorage, RUNS);
  write(localStorage, RUNS, others);
}

/**
 * The text to show: the draft, or that of the job which the page shows.
 * @param {string} dataset @param {string} job @returns {Draft}
 */
export function draftOf(dataset, job) {
  const draft = read(sessionStorage, DRAFTS)[dataset];
  const run = job ? runsOf(dataset).find((each) => each.job === job) : undefined;
  if (draft && (draft.job === job || !run)) return draft;
  return run ?? { sql: "", parameters: {}, job };
}

/** @param {string} dataset @param {Draft} draft */
export function keepDraft(dataset, draft) {
  write(sessionStorage, DRAFTS, { ...read(sessionStorage, DRAFTS), [dataset]: draft });
}

/** As many of the newest runs as there is space for. @param {Run[]} runs @returns {Run[]} */
export function bounded(runs) {
  let letters = 0;
  return runs.slice(0, MOST_RUNS).filter((run) => (letters += run.sql.length) <= MOST_LETTERS);
}

/** @param {Storage} storage @param {string} key @returns {Record<string, any>} */
function read(storage, key) {
  try {
    return JSON.parse(storage.getItem(key) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

/** @param {Storage} storage @param {string} key @param {unknown} value */
function write(storage, key, value) {
  try {
    storage.setItem(key, JSON.stringify(value));
  } catch {
    // The storage is full or turned off: the page works without it.
  }
}
