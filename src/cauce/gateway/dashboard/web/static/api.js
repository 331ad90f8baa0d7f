// Requests to the gateway, with the token if one is set. Errors carry the gateway's message.

import { answered, suspect } from "./connection.js";

const TOKEN = "cauce-token";
let offset_s = 0;
/** @type {((rejected: boolean) => Promise<boolean>) | null} */
let askForToken = null;
/** @type {Promise<boolean> | null} */
let asking = null;

/** An error response of a gateway; status 0 if none answered. */
export class Problem extends Error {
  /** @param {number} status @param {string} code @param {string} detail @param {number} [retry_s] */
  constructor(status, code, detail, retry_s = 0) {
    super(detail);
    this.status = status;
    this.code = code;
    this.retry_s = retry_s;
    /** Where the error is in a text that was sent; lines and columns count from 1. @type {{line: number, column: number} | null} */
    this.place = null;
  }
}

/** @param {(rejected: boolean) => Promise<boolean>} ask asks the person for a token and sets it; false: none was given */
export function onUnauthorized(ask) {
  askForToken = ask;
}

export function token() {
  return sessionStorage.getItem(TOKEN) ?? "";
}

/** @param {string} given */
export function setToken(given) {
  if (given) sessionStorage.setItem(TOKEN, given);
  else sessionStorage.removeItem(TOKEN);
}

/** Seconds since 1970 by the gateway's clock, estimated from its responses. */
export function now() {
  return Date.now() / 1000 + offset_s;
}

/**
 * A request whose answer is good, or a Problem. Asks for a token and tries again where one is needed.
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
export async function request(path, options = {}) {
  for (;;) {
    const used = token();
    const response = await send(path, options, used);
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (response.status !== 401 || askForToken === null) throw problem;
    if (used !== token()) continue;
    if (!(await tokenFromPerson(used !== ""))) throw problem;
  }
}

/** Concurrent requests that need a token share one dialog. @param {boolean} rejected */
async function tokenFromPerson(rejected) {
  asking ??= /** @type {(rejected: boolean) => Promise<boolean>} */ (askForToken)(rejected);
  const given = await asking;
  asking = null;
  return given;
}

/** Why a token cannot be used; "" if the service accepts it. @param {string} candidate @returns {Promise<string>} */
export async function refusalOf(candidate) {
  if (!candidate) return "Enter a token.";
  if (!/^[!-~]+$/.test(candidate)) return "This is not a token: a token has only ASCII letters, digits and punctuation.";
  try {
    const response = await send("/v1/datasets", {}, candidate);
    if (response.status !== 401) return "";
    return "The service does not accept this token. Check that you copied all of it.";
  } catch (problem) {
    return `${problem instanceof Error ? problem.message : String(problem)} Try again.`;
  }
}

/** @param {string} path @param {RequestInit} options @param {string} used */
async function send(path, options, used) {
  const headers = new Headers(options.headers);
  if (used) headers.set("Authorization", `Bearer ${used}`);
  try {
    const response = await fetch(path, { ...options, headers });
    answered();
    const date = Date.parse(response.headers.get("date") ?? "");
    // The header has a resolution of one second: half of it is the mean error.
    if (!Number.isNaN(date)) offset_s = smoothed(date / 1000 + 0.5 - Date.now() / 1000);
    return response;
  } catch (problem) {
    if (options.signal?.aborted) throw problem;
    suspect();
    throw new Problem(0, "unreachable", "Cannot reach the service.");
  }
}

/** Differences within the header's resolution count as zero. @param {number} seen_s */
function smoothed(seen_s) {
  return Math.abs(seen_s) < 2 ? 0 : seen_s;
}

/** @param {Response} response */
async function problemOf(response) {
  const retry_s = Number(response.headers.get("retry-after") ?? 0) || 0;
  try {
    const told = await response.json();
    const problem = new Problem(response.status, told.code, told.detail, retry_s);
    if (told.line) problem.place = { line: told.line, column: told.column };
    return problem;
  } catch {
    return new Problem(response.status, "error", `The service answered with status ${response.status}.`, retry_s);
  }
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function getJson(path, signal) {
  const response = await request(path, { headers: { Accept: "application/json" }, signal });
  return response.json();
}

/** @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function sendJson(method, path, body, signal) {
  const response = await request(path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  });
  return response.json();
}

/** @param {string} job */
export function jobPath(job) {
  return `/v1/jobs/${encodeURIComponent(job)}`;
}
