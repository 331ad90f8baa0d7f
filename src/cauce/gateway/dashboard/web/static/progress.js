// Progress of a job, from its status. Pure, except for the recent samples that a rate needs.

export const ENDED = new Set(["done", "failed", "cancelled", "expired", "damaged"]);
/** The states whose cause is an error. */
export const BROKEN = new Set(["failed", "damaged"]);
const MEMORY_S = 15;
/** The dataset of jobs that answer SQL statements. */
const SQL = "sql";

/**
 * @typedef {{parts: number, bytes: number, complete: number | null, parts_read: number, rows: number, rejects: number}} Table
 * @typedef {{pages: number, rows: number, complete: boolean}} Answer
 * @typedef {{job: string, owner: string, dataset: string, queries: string[], state: string, cause: string, code: string,
 *   created: number, ended: number | null, expires: number | null, tables: Record<string, Table>,
 *   answers: Record<string, Answer>, parameters: Record<string, string>, on: string, version: number,
 *   no_worker?: import("./no_worker.js").NoWorker | null}} Status
 * @typedef {{parts: number, partsRead: number, bytes: number, bytesRead: number, rows: number, rejects: number,
 *   known: boolean, answers: number, complete: number, share: number | null}} Progress
 */

/** Whether the job answers SQL statements over a kept dataset. @param {Status} status */
export function isSql(status) {
  return status.on !== "" && status.dataset === SQL;
}

/** @param {Status} status @returns {Progress} */
export function progressOf(status) {
  const tables = Object.values(status.tables);
  const sum = (/** @type {(table: Table) => number} */ of) => tables.reduce((total, table) => total + of(table), 0);
  const bytes = sum((table) => table.bytes);
  const bytesRead = sum((table) => (table.parts ? (table.bytes * table.parts_read) / table.parts : 0));
  const known = tables.length > 0 && tables.every((table) => table.complete !== null);
  const answers = Object.values(status.answers);
  const complete = answers.filter((answer) => answer.complete).length;
  return {
    parts: sum((table) => table.parts),
    partsRead: sum((table) => table.parts_read),
    bytes,
    bytesRead,
    rows: sum((table) => table.rows),
    rejects: sum((table) => table.rejects),
    known,
    answers: answers.length,
    complete,
    share: shareOf(status, known, bytes, bytesRead),
  };
}

/** Null until all tables are complete and the total is known. @returns {number | null}
 * @param {Status} status @param {boolean} known @param {number} bytes @param {number} bytesRead */
function shareOf(status, known, bytes, bytesRead) {
  if (status.state === "done") return 1;
  if (!known) return null;
  // The work after reading is usually short and of unknown length: the bar stops just before its end.
  return bytes ? Math.min(0.98, bytesRead / bytes) : 0.98;
}

/** Samples the reading progress of each job, to estimate the time left. */
/** Unique among the jobs of all owners. @param {{job: string, owner: string}} status */
export function keyOf(status) {
  return `${status.owner}.${status.job}`;
}

export class Pace {
  constructor() {
    /** @type {Map<string, [number, number][]>} */
    this.samples = new Map();
  }

  /** @param {Status} status @param {number} now @returns {number | null} seconds left, null if unknown */
  left(status, now) {
    if (ENDED.has(status.state)) {
      this.samples.delete(keyOf(status));
      return null;
    }
    const { bytes, bytesRead, known } = progressOf(status);
    const kept = (this.samples.get(keyOf(status)) ?? []).filter(([at]) => now - at < MEMORY_S);
    if (!kept.length || bytesRead !== kept[kept.length - 1][1]) kept.push([now, bytesRead]);
    this.samples.set(keyOf(status), kept);
    const rate = this.rate(status, now);
    return known && !status.no_worker && rate > 0 && bytes > bytesRead ? (bytes - bytesRead) / rate : null;
  }

  /** Bytes a second. @param {Status} status @param {number} now */
  rate(status, now) {
    const kept = this.samples.get(keyOf(status)) ?? [];
    const { bytesRead } = progressOf(status);
    const [since, before] = kept.length > 1 ? kept[0] : [status.created, 0];
    return now > since ? (bytesRead - before) / (now - since) : 0;
  }
}
