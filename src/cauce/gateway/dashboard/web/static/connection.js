// Whether the service can be reached. While it cannot, a banner reports it and the service is probed until it answers.

import { h, replace } from "./dom.js";

const RECOVERED = "cauce-recovered";
const PROBE_MS = 1500;
const IDLE_MS = 5000;
const TIMEOUT_MS = 8000;

let lost = false;
let probing = false;
let answeredAt = 0;

/** Every response proves that the service can be reached. */
export function answered() {
  answeredAt = Date.now();
  if (!lost) return;
  lost = false;
  show("");
  document.dispatchEvent(new Event(RECOVERED));
}

/** A request failed. A probe decides whether the service is down or only one gateway has exited. */
export async function suspect() {
  if (probing) return;
  probing = true;
  while (!(await probe())) {
    lost = true;
    show("Cannot reach the service; retrying. What you see may be out of date.");
    await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
  }
  probing = false;
}

/** @param {() => void} listener called when the service answers again @param {AbortSignal} signal */
export function onRecovery(listener, signal) {
  document.addEventListener(RECOVERED, listener, { signal });
}

/** Probes periodically, so that idle pages notice too that the service has stopped. */
export function startHeartbeat() {
  setInterval(() => {
    if (!document.hidden && !probing && Date.now() - answeredAt >= IDLE_MS) suspect();
  }, IDLE_MS);
}

async function probe() {
  try {
    await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
    answered();
    return true;
  } catch {
    return false;
  }
}

/** @param {string} text */
function show(text) {
  replace(/** @type {HTMLElement} */ (document.getElementById("connection")), text ? h("p", {}, text) : null);
}
