// The health of the service at the top of the cluster's page: one word, one sentence, and numbers by role.

import { h, replace, say, set } from "./dom.js";
import { bytes, duration, percent, plural } from "./format.js";

/** @typedef {import("./lives.js").Process} Process */
/** @typedef {import("./lives.js").Happened} Happened */

const ROLES = ["worker", "gateway", "doctor"];
const RECENT_S = 3600;

/**
 * The health of the service and the reason for it.
 * @param {Process[]} processes @param {string} leader @returns {{level: "good" | "warn" | "bad", word: string, reason: string}}
 */
export function healthOf(processes, leader) {
  const down = processes.filter((each) => !isUp(each));
  const without = ROLES.find((role) => processes.some((each) => each.role === role) && !processes.some((each) => each.role === role && isUp(each)));
  if (!processes.some((each) => each.role === "worker" && isUp(each))) return { level: "bad", word: "No worker runs", reason: "Jobs are accepted, but wait." };
  if (without) return { level: "bad", word: `No ${without} runs`, reason: namesOf(down) };
  if (!leader) return { level: "warn", word: "Electing a leader", reason: "Crashed processes are restarted after the election." };
  if (down.length) return { level: "warn", word: "Degraded", reason: namesOf(down) };
  return { level: "good", word: "Healthy", reason: "All processes run." };
}

/** @param {Process} each */
function isUp(each) {
  return each.pid > 0 && ["running", "ending"].includes(each.state);
}

/** @param {Process[]} down */
function namesOf(down) {
  return `${down.map((each) => `${each.name} is ${each.state}`).join(", ")}.`;
}

export class Health {
  constructor() {
    this.word = h("strong.health-word");
    this.reason = h("span");
    this.note = h("p.why.quiet", { role: "status" }, "Loading…");
    this.numbers = h("dl.numbers");
    this.element = h("section.card.health", { "aria-label": "Health" },
      h("p.health-line", {}, h("span.health-dot", { "aria-hidden": "true" }), this.word, this.reason), this.numbers, this.note);
    set(this.element, "data-level", "none");
  }

  /** @param {Process[]} processes @param {string} leader @param {Happened[]} events @param {number} now */
  show(processes, leader, events, now) {
    const { level, word, reason } = healthOf(processes, leader);
    set(this.element, "data-level", level);
    say(this.word, word);
    say(this.reason, reason);
    const crashes = events.filter((event) => event.what === "crashed" && now - event.at < RECENT_S).length;
    const facts = [
      ...ROLES.map((role) => roleFact(role, processes.filter((each) => each.role === role))),
      ["Crashes, last hour", String(crashes), crashes ? "warn" : ""],
      ["Memory", bytes(processes.reduce((sum, each) => sum + each.rss, 0)), ""],
      ["Processor", percent(processes.reduce((sum, each) => sum + (each.cpu ?? 0), 0)), ""],
    ];
    replace(this.numbers, facts.map(([name, value, kind]) => h("div", {}, h("dt", {}, name), h("dd", { class: kind }, value))));
    say(this.note, sentence(processes, leader, events));
  }

  /** @param {string} text */
  refuse(text) {
    say(this.word, "No cluster");
    say(this.note, text);
  }
}

/** @param {string} role @param {Process[]} processes */
function roleFact(role, processes) {
  const up = processes.filter(isUp).length;
  return [`${role[0].toUpperCase()}${role.slice(1)}s`, `${up} of ${processes.length}`, up < processes.length ? "warn" : ""];
}

/** @param {Process[]} processes @param {string} leader @param {Happened[]} events */
function sentence(processes, leader, events) {
  const alive = processes.filter((each) => each.pid > 0).length;
  const crashes = events.filter((event) => event.what === "crashed").length;
  const back = [...events].reverse().find((event) => event.what === "recovered" && event.after_s !== null);
  const healed = back ? `; last recovery: ${back.name}, after ${duration(back.after_s ?? 0)}` : "";
  const leads = leader ? `${leader} leads` : "no leader now";
  return `${alive} of ${plural(processes.length, "process", "processes")} running; ${leads}; ${plural(crashes, "crash", "crashes")} recorded${healed}.`;
}
