// The kept datasets, requested again when they may have changed: after an interruption, when the page is shown again,
// and every few seconds while there is none to ask.

import { getJson } from "./api.js";
import { onRecovery } from "./connection.js";

const PAUSE_MS = 5000;

/**
 * @typedef {import("./sql_tables.js").Kept} Kept
 * @typedef {object} Listener
 * @property {(kept: Kept[]) => boolean} found returns whether there is one to ask
 * @property {(problem: unknown) => void} failed
 */

export class KeptDatasets {
  /** @param {Listener} listener @param {AbortSignal} signal */
  constructor(listener, signal) {
    this.listener = listener;
    this.signal = signal;
    this.timer = 0;
    onRecovery(() => this.load(), signal);
    document.addEventListener("visibilitychange", () => document.hidden || this.load(), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  async load() {
    clearTimeout(this.timer);
    try {
      const { kept } = await getJson("/v1/datasets", this.signal);
      if (!this.listener.found(kept) && !this.signal.aborted) this.timer = setTimeout(() => this.load(), PAUSE_MS);
    } catch (problem) {
      if (!this.signal.aborted) this.listener.failed(problem);
    }
  }
}
