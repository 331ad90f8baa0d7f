// Server-sent events through fetch, which can carry a token. Reconnects after an interruption, and closes the
// connection while the page is hidden: a browser allows only a few connections per host.

import { Problem, request } from "./api.js";
import { onRecovery } from "./connection.js";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8000;

/**
 * @typedef {object} Follower
 * @property {(name: string, data: any) => void} event
 * @property {(live: boolean) => void} [live] called when the stream starts, and when it is interrupted
 * @property {(problem: Problem) => void} [refused] called once; there is no retry after it
 * @property {() => boolean} [over] whether the end of the stream is final
 */

/**
 * Follows a stream until aborted.
 * @param {string} path @param {Follower} follower @param {AbortSignal} signal
 */
export async function follow(path, follower, signal) {
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    await untilVisible(signal);
    if (signal.aborted) return;
    try {
      await readOnce(path, follower, signal, () => (pause = FIRST_PAUSE_MS));
    } catch (problem) {
      if (signal.aborted) return;
      if (problem instanceof Problem && problem.status >= 400 && problem.status < 500 && problem.status !== 429) {
        follower.refused?.(problem);
        return;
      }
    }
    if (follower.over?.()) return;
    follower.live?.(false);
    await pauseOf(pause, signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

/** @param {string} path @param {Follower} follower @param {AbortSignal} signal @param {() => void} came */
async function readOnce(path, follower, signal, came) {
  const look = new AbortController();
  const stop = () => look.abort();
  const hide = () => document.hidden && look.abort();
  signal.addEventListener("abort", stop);
  document.addEventListener("visibilitychange", hide);
  try {
    const response = await request(path, { headers: { Accept: "text/event-stream" }, signal: look.signal });
    follower.live?.(true);
    for await (const [name, data] of events(/** @type {ReadableStream<Uint8Array>} */ (response.body))) {
      came();
      follower.event(name, JSON.parse(data));
    }
  } finally {
    signal.removeEventListener("abort", stop);
    document.removeEventListener("visibilitychange", hide);
  }
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<[string, string]>}
 */
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    held += value;
    const blocks = held.split("\n\n");
    held = /** @type {string} */ (blocks.pop());
    for (const block of blocks) {
      const found = parse(block);
      if (found) yield found;
    }
  }
}

/** @param {string} block @returns {[string, string] | null} */
function parse(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  return data.length ? [name, data.join("\n")] : null;
}

/** @param {AbortSignal} signal @returns {Promise<void>} */
function untilVisible(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

/** Sleeps; returns early if the service becomes reachable. @param {number} ms @param {AbortSignal} signal */
async function pauseOf(ms, signal) {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  onRecovery(() => over.abort(), either);
  await sleep(ms, either);
  over.abort();
}

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
export function sleep(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
