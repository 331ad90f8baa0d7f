// Uploads files as numbered parts, split at records, a few at a time, with retries. Parts that the service has stored
// with the same content are not sent again, so sending the same files under the same id resumes the upload. Other
// content is sent, and the service rejects it: an id stands for one input.

import { jobPath, Problem, request, sendJson } from "./api.js";
import { Cutter } from "./cut.js";
import { BadFile } from "./header.js";
import { endingOf } from "./match.js";
import { sleep } from "./stream.js";

export const PART_BYTES = 4 * 2 ** 20;
const READ_BYTES = 2 ** 20;
const AT_ONCE = 4;
const PATIENCE_MS = 120_000;
const LONGEST_HEADER = 8 * 2 ** 10;
const MOST_WHOLE_BYTES = 60 * 2 ** 20;

/**
 * @typedef {{body: Uint8Array | Blob, headers: Record<string, string>, weight: number}} Part
 * @typedef {(table: string, sent: number, parts: number) => void} ProgressListener
 * @typedef {{part: number, content: string, file: string, first_line: number, columns: string}} Receipt
 */

/** One upload of a job's tables. */
export class Upload {
  /** @param {string} job @param {ProgressListener} onProgress @param {AbortSignal} signal */
  constructor(job, onProgress, signal) {
    this.job = job;
    this.onProgress = onProgress;
    this.signal = signal;
    this.succeeded = performance.now();
  }

  /** @param {string} table @param {import("./match.js").Given[]} files in their order @param {string} delimiter */
  async table(table, files, delimiter) {
    const path = `${jobPath(this.job)}/tables/${encodeURIComponent(table)}`;
    const held = await this.receipts(path);
    /** @type {Set<Promise<void>>} */
    const going = new Set();
    let seq = 0;
    let sent = 0;
    for await (const part of partsOf(files, delimiter)) {
      const number = seq++;
      const done = () => this.onProgress(table, (sent += part.weight), number + 1);
      if (await isSame(held.get(number), part)) done();
      else {
        const one = this.put(`${path}/parts/${number}`, part).then(done).finally(() => going.delete(one));
        going.add(one);
        if (going.size >= AT_ONCE) await Promise.race(going);
      }
      this.signal.throwIfAborted();
    }
    await Promise.all(going);
    await this.withRetries(() => sendJson("POST", `${path}/complete`, { parts: seq }));
  }

  /** The receipts of the stored parts, by number. @param {string} path of the table */
  async receipts(path) {
    /** @type {Map<number, Receipt>} */
    const found = new Map();
    for (let from = 0; from !== null; ) {
      const page = await (await this.withRetries(() => request(`${path}/parts?from=${from}`, { signal: this.signal }))).json();
      for (const each of page.parts) found.set(each.part, each);
      from = page.next;
    }
    return found;
  }

  /** @param {string} path @param {Part} part */
  async put(path, part) {
    const headers = { ...part.headers, ...(await digest(part.body)) };
    await this.withRetries(() => request(path, { method: "PUT", headers, body: /** @type {any} */ (part.body), signal: this.signal }));
  }

  /** Retries with backoff, as long as any request has succeeded within the last two minutes.
   * @template T @param {() => Promise<T>} step @returns {Promise<T>} */
  async withRetries(step) {
    for (let pause = 250; ; pause = Math.min(pause * 2, 8000)) {
      try {
        const outcome = await step();
        this.succeeded = performance.now();
        return outcome;
      } catch (problem) {
        const passing = problem instanceof Problem && (problem.status === 0 || [408, 429].includes(problem.status) || problem.status >= 500);
        if (!passing || this.signal.aborted || performance.now() - this.succeeded > PATIENCE_MS) throw problem;
        await sleep(Math.max(pause * (0.5 + Math.random() / 2), problem.retry_s * 1000), this.signal);
      }
    }
  }
}

/** @param {import("./match.js").Given[]} files @param {string} delimiter @returns {AsyncGenerator<Part>} */
export async function* partsOf(files, delimiter) {
  for (const { path, file } of files) {
    if (endingOf(path) === ".parquet") yield wholeFile(path, file);
    else yield* csvParts(path, file, delimiter);
  }
}

/** @param {string} path @param {File} file @returns {Part} */
function wholeFile(path, file) {
  if (file.size > MOST_WHOLE_BYTES) {
    throw new BadFile(`${path} is too large to be sent from a browser as Parquet; send it with ./cauce submit`);
  }
  const headers = { "Content-Type": "application/vnd.apache.parquet", ...place(path, 2) };
  return { body: file, headers, weight: file.size };
}

/** @param {string} path @param {File} file @param {string} delimiter @returns {AsyncGenerator<Part>} */
async function* csvParts(path, file, delimiter) {
  const packed = endingOf(path) === ".csv.gz";
  const cutter = new Cutter(reading(path, file), delimiter);
  const header = await cutter.header(path);
  const named = encodeURIComponent(JSON.stringify(header.cells));
  const line = header.cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(delimiter);
  const before = named.length > LONGEST_HEADER ? new TextEncoder().encode(`${line}\n`) : null;
  const columns = before ? {} : { "Cauce-Columns": named };
  const make = (/** @type {Uint8Array} */ data, /** @type {number} */ firstLine, /** @type {number} */ weight) => ({
    body: before ? new Blob([before, /** @type {any} */ (data)]) : data,
    headers: { "Content-Type": "text/csv", ...place(path, firstLine), ...columns },
    weight,
  });
  let empty = true;
  for await (const piece of cutter.pieces(PART_BYTES)) {
    const end = piece.start + piece.data.length;
    yield make(piece.data, piece.firstLine, packed ? 0 : end - (empty ? 0 : piece.start));
    empty = false;
  }
  if (empty) yield make(new Uint8Array(0), header.lines + 1, file.size);
}

/** @param {string} path @param {number} firstLine */
function place(path, firstLine) {
  return { "Cauce-File": encodeURIComponent(path), "Cauce-First-Line": String(firstLine) };
}

/** Reads the text of a CSV file, decompressed. @param {string} path @param {File} file @returns {import("./cut.js").Read} */
export function reading(path, file) {
  return endingOf(path) === ".csv.gz" ? unpacked(file, path) : slices(file);
}

/** @param {File} file @returns {import("./cut.js").Read} */
export function slices(file) {
  let at = 0;
  return async (bytes) => {
    if (at >= file.size) return null;
    const slice = file.slice(at, at + Math.max(bytes, READ_BYTES));
    at += slice.size;
    return new Uint8Array(await slice.arrayBuffer());
  };
}

/** @param {File} file @param {string} path @returns {import("./cut.js").Read} */
function unpacked(file, path) {
  const reader = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  return async () => {
    try {
      const { done, value } = await reader.read();
      return done ? null : value;
    } catch {
      throw new BadFile(`${path} is truncated or corrupt: it cannot be decompressed to its end`);
    }
  };
}

/** The digest header, if the browser can compute it. @param {Uint8Array | Blob} body @returns {Promise<Record<string, string>>} */
async function digest(body) {
  const made = await sha256(body);
  return made ? { "Content-Digest": `sha-256=:${btoa(String.fromCharCode(...made))}:` } : {};
}

/** Null if the browser does not offer it: on pages loaded over plain HTTP from another machine.
 * @param {Uint8Array | Blob} body */
async function sha256(body) {
  if (!globalThis.crypto?.subtle) return null;
  const bytes = body instanceof Blob ? await body.arrayBuffer() : body;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", /** @type {any} */ (bytes)));
}

/** Whether the service has stored the part with this content. @param {Receipt | undefined} receipt @param {Part} part */
async function isSame(receipt, part) {
  if (!receipt?.content) return false;
  const columns = part.headers["Cauce-Columns"];
  const named = columns ? hex(await sha256(new TextEncoder().encode(decodeURIComponent(columns)))).slice(0, 16) : "";
  return receipt.file === decodeURIComponent(part.headers["Cauce-File"]) && receipt.first_line === Number(part.headers["Cauce-First-Line"]) &&
    receipt.columns === named && receipt.content === hex(await sha256(part.body));
}

/** @param {Uint8Array | null} bytes */
function hex(bytes) {
  return bytes ? [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("") : "none";
}
