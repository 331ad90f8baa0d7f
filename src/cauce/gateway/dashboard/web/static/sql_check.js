// Checks statements while they are typed. Only the newest text counts: an earlier check is aborted.

import { Problem, sendJson } from "./api.js";

const PAUSE_MS = 400;

/**
 * @typedef {{sql: string, on: string, parameters: Record<string, string>}} Statements
 * @typedef {{valid: (answers: import("./sql_findings.js").Answer[]) => void, refused: (problem: Problem) => void}} Listener
 */

export class Check {
  /** @param {Listener} listener @param {AbortSignal} signal */
  constructor(listener, signal) {
    this.listener = listener;
    this.signal = signal;
    this.current = new AbortController();
  }

  /** @param {Statements} statements checked after a pause in typing */
  later(statements) {
    this.stop();
    const { signal } = this.current;
    const timer = setTimeout(() => this.ask(statements, AbortSignal.any([signal, this.signal])), PAUSE_MS);
    for (const each of [signal, this.signal]) each.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }

  stop() {
    this.current.abort();
    this.current = new AbortController();
  }

  /** @param {Statements} statements @param {AbortSignal} signal */
  async ask(statements, signal) {
    try {
      const found = await sendJson("POST", "/v1/sql/check", statements, signal);
      if (!signal.aborted) this.listener.valid(found.answers);
    } catch (problem) {
      if (signal.aborted) return;
      if (!(problem instanceof Problem)) throw problem;
      this.listener.refused(problem);
    }
  }
}
