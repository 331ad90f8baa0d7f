// Ending jobs from the page: a running job is cancelled, an ended one is removed. Both release everything it holds.

import { jobPath, sendJson } from "./api.js";
import { confirmed } from "./dialogs.js";
import { plural } from "./format.js";
import { toast } from "./notices.js";
import { ENDED } from "./progress.js";

/** @typedef {import("./progress.js").Status} Status */

const RELEASED = new Set(["cancelled", "expired"]);

/** Whether the job still holds something that can be released. @param {Status} status */
export function canEnd(status) {
  return !RELEASED.has(status.state);
}

/** The label of the action: "Cancel 2 jobs". @param {Status[]} jobs */
export function endName(jobs) {
  const ended = jobs.filter((status) => ENDED.has(status.state)).length;
  const running = jobs.length - ended;
  if (!jobs.length) return "Cancel or remove";
  if (!ended) return `Cancel ${plural(running, "job")}`;
  return running ? `Cancel ${running} and remove ${plural(ended, "job")}` : `Remove ${plural(ended, "job")}`;
}

/** Asks for confirmation, then ends the jobs. @param {Status[]} jobs @returns {Promise<boolean>} whether any was ended */
export async function endJobs(jobs) {
  if (!(await confirmed(questionOf(jobs)))) return false;
  const outcomes = await Promise.allSettled(jobs.map((status) => sendJson("DELETE", jobPath(status.job))));
  const failed = outcomes.filter((outcome) => outcome.status === "rejected");
  for (const outcome of failed) toast(/** @type {PromiseRejectedResult} */ (outcome).reason.message, "bad");
  const ended = jobs.filter((_, index) => outcomes[index].status === "fulfilled");
  if (ended.length) toast(outcomeWords(ended));
  return ended.length > 0;
}

/** @param {Status[]} jobs @returns {import("./dialogs.js").Question} */
function questionOf(jobs) {
  const ended = jobs.filter((status) => ENDED.has(status.state)).length;
  const one = jobs.length === 1 ? jobs[0] : null;
  const title = one ? `${ended ? "Remove" : "Cancel"} job ${one.job}?` : `${endName(jobs)}?`;
  const running = jobs.length - ended;
  const detail = [
    running ? `${running === 1 ? "The running job stops" : "The running jobs stop"} and what ${running === 1 ? "it has" : "they have"} received is deleted.` : "",
    ended ? `The answers of the ended ${ended === 1 ? "job are" : "jobs are"} deleted.` : "",
    "This cannot be undone.",
  ].filter(Boolean).join(" ");
  return { title, detail, action: one ? `${ended ? "Remove" : "Cancel"} job` : endName(jobs), keep: jobs.length === 1 ? "Keep job" : "Keep jobs" };
}

/** @param {Status[]} jobs */
function outcomeWords(jobs) {
  const ended = jobs.filter((status) => ENDED.has(status.state)).length;
  if (jobs.length === 1) return `Job ${jobs[0].job} was ${ended ? "removed" : "cancelled"}.`;
  const parts = [jobs.length - ended ? `${plural(jobs.length - ended, "job")} cancelled` : "", ended ? `${plural(ended, "job")} removed` : ""];
  return `${parts.filter(Boolean).join(", ")}.`;
}
