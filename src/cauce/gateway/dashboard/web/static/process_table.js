// The processes of the service now: state, load and work; for operators with buttons to start, stop, and read the log.

import { Problem, sendJson } from "./api.js";
import { confirmed } from "./dialogs.js";
import { h, keyed, say, set } from "./dom.js";
import { ago, bytes, percent } from "./format.js";
import { workOf } from "./lives.js";
import { toast } from "./notices.js";
import { scroller } from "./scroller.js";

/** @typedef {import("./lives.js").Process} Process */

const COLUMNS = ["Process", "State", "Memory", "CPU", "Restarts", "Working on", "Last heartbeat", ""];

export class ProcessTable {
  /** @param {(name: string) => void} openLog */
  constructor(openLog) {
    this.openLog = openLog;
    this.rows = h("tbody");
    const head = COLUMNS.map((name, index) => h(index > 1 && index < 5 ? "th.number" : "th", { scope: "col" },
      name || h("span.visually-hidden", {}, "Actions")));
    this.element = scroller("Processes now", h("table.compact.processes", {}, h("thead", {}, h("tr", {}, head)), this.rows));
  }

  /** @param {Process[]} processes @param {boolean} operator */
  show(processes, operator) {
    keyed(this.rows, processes, (each) => each.name, (each) => this.makeRow(each), (row, each) => fillRow(row, each, operator));
  }

  /** @param {Process} each */
  makeRow(each) {
    const log = h("button.small-button", { type: "button", onclick: () => this.openLog(each.name), "aria-label": `Log of ${each.name}` }, "Log");
    const hold = h("button.small-button", { type: "button", onclick: () => change(each, hold) });
    return h("tr", {}, h("th", { scope: "row" }, each.name), h("td", {}, h("span.state")), h("td.number"), h("td.number"), h("td.number"),
      h("td"), h("td"), h("td.actions", {}, h("div", {}, log, hold)));
  }
}

/** @param {Element} row @param {Process} each @param {boolean} operator */
function fillRow(row, each, operator) {
  const [name, state, memory, cpu, restarts, work, heard, actions] = row.children;
  say(name, each.leader ? `${each.name} ★` : each.name);
  set(name, "title", each.leader ? "The leader" : null);
  const pill = /** @type {Element} */ (state.firstElementChild);
  set(pill, "class", `state ${each.state}`);
  say(pill, each.state);
  set(pill, "title", each.reason || null);
  say(memory, each.rss ? bytes(each.rss) : "");
  say(cpu, each.cpu === null || each.cpu === undefined ? "" : percent(each.cpu));
  say(restarts, each.restarts);
  say(work, each.pid ? workOf(each) : restartWords(each));
  say(heard, each.pid ? ago(each.quiet_s) : "");
  const [log, hold] = [.../** @type {Element} */ (actions.firstElementChild).children];
  const stopped = each.state === "stopped";
  set(log, "hidden", !operator);
  set(hold, "hidden", !operator || each.role === "doctor");
  say(hold, stopped ? "Start" : "Stop");
  set(hold, "aria-label", `${stopped ? "Start" : "Stop"} ${each.name}`);
  set(hold, "data-running", String(stopped));
  hold.classList.toggle("danger", !stopped);
}

/** @param {Process} each */
function restartWords(each) {
  const { restart_in_s: seconds } = each;
  return typeof seconds === "number" ? `restarting in ${Math.max(1, Math.round(seconds))} s: ${each.reason}` : each.reason;
}

/** Starts a stopped process; stops a running one after a question. @param {Process} each @param {HTMLElement} button */
async function change(each, button) {
  const running = button.getAttribute("data-running") === "true";
  const detail = each.role === "worker" ? "Its tasks pass to other workers. No answer is lost. It stays stopped until it is started." :
    "Its requests are retried on other gateways. It stays stopped until it is started.";
  if (!running && !(await confirmed({ title: `Stop ${each.name}?`, detail, action: "Stop", keep: "Keep it running" }))) return;
  set(button, "disabled", true);
  try {
    await sendJson("PUT", `/v1/cluster/processes/${encodeURIComponent(each.name)}`, { running });
    toast(`${running ? "Starting" : "Stopping"} ${each.name}`);
  } catch (problem) {
    toast(problem instanceof Problem ? problem.message : String(problem), "bad");
  }
  set(button, "disabled", false);
}
