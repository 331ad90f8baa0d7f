// Splits CSV at record boundaries, by the same rules as the service: a quote opens a cell only at its start, and a
// record with broken quoting ends at its line end. Never guesses.

import { BadFile, headerCells } from "./header.js";

const LF = 10;
const CR = 13;
const QUOTE = 34;
const BOM = [0xef, 0xbb, 0xbf];
export const QUOTED_LIMIT = 16 * 2 ** 20;

/**
 * @typedef {(bytes: number) => Promise<Uint8Array | null>} Read the next bytes of a file; null at its end
 * @typedef {{cells: string[], end: number, lines: number}} Header
 * @typedef {{data: Uint8Array, start: number, firstLine: number}} Piece
 */

/** Sequential reader of a file: a window over its bytes, and the position of the next record. */
export class Cutter {
  /** @param {Read} read @param {string} delimiter @param {{limit?: number, mostBytes?: number, windowBytes?: number}} [options] */
  constructor(read, delimiter, options = {}) {
    this.read = read;
    this.delimiter = delimiter.charCodeAt(0);
    this.limit = options.limit ?? QUOTED_LIMIT;
    this.mostBytes = options.mostBytes ?? 48 * 2 ** 20;
    this.windowBytes = Math.max(options.windowBytes ?? 2 ** 20, BOM.length);
    this.bytes = new Uint8Array(0);
    this.base = 0;
    this.final = false;
    this.position = 0;
    this.line = 1;
    this.doomed = 0;
  }

  /** @param {string} name @returns {Promise<Header>} */
  async header(name) {
    await this.refill(0);
    if (BOM.every((byte, index) => this.bytes[index] === byte)) this.position = BOM.length;
    for (;;) {
      const start = this.position;
      await this.advance(start + 1, start);
      if (this.position === start) throw new BadFile(`${name} is empty: it needs a first line with the names of its columns`);
      const record = this.held(start, this.position);
      const cells = headerCells(record, this.delimiter, name);
      if (cells.length) {
        return { cells, end: this.position, lines: this.line - (record[record.length - 1] === LF ? 1 : 0) };
      }
    }
  }

  /** @param {number} partBytes @returns {AsyncGenerator<Piece>} */
  async *pieces(partBytes) {
    for (;;) {
      const [start, firstLine] = [this.position, this.line];
      await this.advance(start + Math.max(partBytes, 1), start);
      if (this.position === start) return;
      if (this.position - start > this.mostBytes) throw this.tooLong(firstLine);
      yield { data: this.held(start, this.position), start, firstLine };
    }
  }

  /** A copy of the bytes between two positions of the window. @param {number} start @param {number} end */
  held(start, end) {
    return this.bytes.slice(start - this.base, end - this.base);
  }

  /** Advances to the first record start at or after the target, or to the end. @param {number} target @param {number} hold */
  async advance(target, hold) {
    while (this.position < target) {
      const end = this.base + this.bytes.length;
      if (this.final && this.position >= end) return;
      if (!this.step(target - this.base)) {
        if (this.bytes.length > this.mostBytes + this.limit) throw this.tooLong(this.line);
        await this.refill(hold);
      }
    }
  }

  /** Advances over the complete records in the window. False if there is none. @param {number} target */
  step(target) {
    const before = this.position - this.base;
    let at = before;
    const quotes = new Finder(this.bytes, QUOTE);
    const feeds = new Finder(this.bytes, LF);
    while (at < target && at < this.bytes.length) {
      const next = this.record(at, quotes, feeds);
      if (next < 0) break;
      at = next;
    }
    this.line += countLines(this.bytes, before, at);
    this.position = this.base + at;
    return at > before;
  }

  /** The end of the record that starts here; -1 if more bytes are needed. @param {number} from @param {Finder} quotes @param {Finder} feeds */
  record(from, quotes, feeds) {
    const { bytes, final } = this;
    const length = bytes.length;
    const lineEnd = this.lineEnd(from, feeds);
    let at = from;
    for (;;) {
      const feed = feeds.from(at);
      let quote = quotes.from(at);
      // Within an unquoted cell, a quote is an ordinary character.
      while (quote < feed && quote > from && bytes[quote - 1] !== this.delimiter) quote = quotes.from(quote + 1);
      if (quote > feed || quote >= length) return feed < length ? feed + 1 : final ? length : -1;
      const stop = Math.min(length, quote + 1 + this.limit + 1, lineEnd);
      let close = quotes.from(quote + 1);
      while (close < stop && close + 1 < length && bytes[close + 1] === QUOTE) close = quotes.from(close + 2);
      if (close >= stop) return final || stop < length ? this.fault(from, stop, feeds) : -1;
      const after = close + 1;
      if (after >= length) return final ? length : -1;
      if (bytes[after] === LF) return after + 1;
      if (bytes[after] === CR) {
        if (after + 1 >= length) return final ? this.fault(from, close, feeds) : -1;
        return bytes[after + 1] === LF ? after + 2 : this.fault(from, close, feeds);
      }
      if (bytes[after] !== this.delimiter) return this.fault(from, close, feeds);
      at = after + 1;
    }
  }

  /** Before the farthest failure so far, a quoted cell that runs over the end of its line fails as well: it would come
   * to the same place. So no stretch is read more than a few times. @param {number} from @param {Finder} feeds */
  lineEnd(from, feeds) {
    const doomed = this.doomed - this.base;
    if (from >= doomed) return this.bytes.length;
    const feed = feeds.from(from);
    return feed >= Math.min(doomed, this.bytes.length) ? this.bytes.length : feed;
  }

  /** A record with broken quoting: it ends at its line end. @param {number} from @param {number} failed @param {Finder} feeds */
  fault(from, failed, feeds) {
    this.doomed = Math.max(this.doomed, this.base + failed);
    const feed = feeds.from(from);
    return feed < this.bytes.length ? feed + 1 : this.final ? this.bytes.length : -1;
  }

  /** Drops the bytes before a position and reads at least as many as are kept, so that no byte is scanned often. @param {number} hold */
  async refill(hold) {
    const kept = this.bytes.subarray(hold - this.base);
    const wanted = Math.max(this.windowBytes, kept.length);
    const chunks = [kept];
    let size = kept.length;
    while (size < kept.length + wanted && !this.final) {
      const chunk = await this.read(kept.length + wanted - size);
      if (chunk === null) this.final = true;
      else {
        chunks.push(chunk);
        size += chunk.length;
      }
    }
    this.bytes = joined(chunks, size);
    this.base = hold;
  }

  /** @param {number} line */
  tooLong(line) {
    return new BadFile(`no record ends within ${Math.round(this.mostBytes / 2 ** 20)} MiB of line ${line}: look there for stray quotes`);
  }
}

/** Finds the next occurrence of a byte, cached: most lookups are before the last result. */
class Finder {
  /** @param {Uint8Array} bytes @param {number} byte */
  constructor(bytes, byte) {
    this.bytes = bytes;
    this.byte = byte;
    this.asked = 0;
    this.found = -1;
  }

  /** The first occurrence at or after a position; the length if there is none. @param {number} at */
  from(at) {
    if (this.found < at || at < this.asked) {
      const found = this.bytes.indexOf(this.byte, at);
      this.found = found < 0 ? this.bytes.length : found;
      this.asked = at;
    }
    return this.found;
  }
}

/** @param {Uint8Array} bytes @param {number} from @param {number} to */
function countLines(bytes, from, to) {
  let lines = 0;
  for (let at = from; at < to; at++) if (bytes[at] === LF) lines++;
  return lines;
}

/** @param {Uint8Array[]} chunks @param {number} size */
function joined(chunks, size) {
  const made = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    made.set(chunk, at);
    at += chunk.length;
  }
  return made;
}
