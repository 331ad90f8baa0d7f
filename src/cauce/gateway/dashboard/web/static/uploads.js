// Uploads in progress. They belong to the tab, not to a page: the user can navigate meanwhile.

import { jobPath, Problem, sendJson } from "./api.js";
import { h, say, set } from "./dom.js";
import { bytes, percent, plural } from "./format.js";
import { toast } from "./notices.js";
import { Upload } from "./send.js";

/**
 * @typedef {{name: string, delimiter: string, files: import("./match.js").Given[]}} Source
 * @typedef {{job: string, dataset: string, queries: string[], parameters: Record<string, string>, sources: Source[]}} Plan
 */

let open = 0;
window.addEventListener("beforeunload", (event) => {
  if (open) event.preventDefault();
});

/**
 * Creates the job and starts the upload; returns when the job exists.
 * @param {Plan} plan
 */
export async function startUpload(plan) {
  const { dataset, queries, parameters } = plan;
  await sendJson("PUT", jobPath(plan.job), { dataset, queries, parameters });
  run(plan);
}

/** @param {Plan} plan */
async function run(plan) {
  const stop = new AbortController();
  const total = plan.sources.reduce((sum, source) => sum + sizeOf(source), 0);
  /** @type {Map<string, number>} */
  const sent = new Map();
  const words = h("span");
  const level = h("div.level");
  const meter = h("div.meter", { role: "progressbar", "aria-label": `Upload of ${plan.job}`, "aria-valuemin": 0,
    "aria-valuemax": 100, "aria-valuenow": 0 }, level);
  const banner = h("div.upload", {}, h("a", { href: `#/job/${encodeURIComponent(plan.job)}` }, plan.job), meter, words,
    h("button", { type: "button", onclick: () => stop.abort() }, "Stop"));
  document.getElementById("uploads")?.append(banner);
  const onProgress = (/** @type {string} */ table, /** @type {number} */ weight, /** @type {number} */ parts) => {
    sent.set(table, weight);
    const done = [...sent.values()].reduce((a, b) => a + b, 0);
    const share = total ? Math.min(1, done / total) : 1;
    level.style.width = `${share * 100}%`;
    set(meter, "aria-valuenow", Math.round(share * 100));
    say(words, `sending ${table}, ${plural(parts, "part")}; ${bytes(done)} of ${bytes(total)}, ${percent(share)}`);
  };
  open += 1;
  try {
    const upload = new Upload(plan.job, onProgress, stop.signal);
    for (const source of [...plan.sources].sort((a, b) => sizeOf(a) - sizeOf(b))) {
      await upload.table(source.name, source.files, source.delimiter);
    }
    toast(`All files of ${plan.job} are sent.`);
  } catch (problem) {
    report(failure(plan.job, problem, stop.signal));
  } finally {
    open -= 1;
    banner.remove();
  }
}

/** A failed upload needs an action: it stays until it is closed. @param {string} text */
function report(text) {
  const line = h("div.upload.failed", { role: "alert" }, h("span", {}, text), h("span.spring"),
    h("button", { type: "button", onclick: () => line.remove() }, "Close"));
  document.getElementById("uploads")?.append(line);
}

/** @param {string} job @param {unknown} problem @param {AbortSignal} stopped */
function failure(job, problem, stopped) {
  if (stopped.aborted) return `The upload of ${job} was stopped. Send the same files under the same id to resume it.`;
  const cause = problem instanceof Error ? problem.message : String(problem);
  const resume = problem instanceof Problem && problem.status === 0 ? " Send the same files under the same id to resume it." : "";
  return `The upload of ${job} failed: ${cause}${resume}`;
}

/** @param {Source} source */
function sizeOf(source) {
  return source.files.reduce((sum, each) => sum + each.file.size, 0);
}
