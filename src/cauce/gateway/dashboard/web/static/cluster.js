// The cluster page: the timeline of every process, the leader, current work, and logs.

import { getJson, now, Problem } from "./api.js";
import { h, keyed, replace, say, set } from "./dom.js";
import { ago, bytes, clock, duration, percent, plural } from "./format.js";
import { drawLanes, legend, words } from "./lanes.js";
import { inOrder, lanesOf, workOf } from "./lives.js";
import { NoWorkerBanner } from "./no_worker.js";
import { scroller } from "./scroller.js";
import { follow } from "./stream.js";

const SPANS = /** @type {[string, number][]} */ ([["1 min", 60], ["5 min", 300], ["30 min", 1800], ["6 h", 21_600], ["7 days", 604_800]]);
const COLUMNS = ["Process", "State", "Memory", "CPU", "Restarts", "Working on", "Last heartbeat", ""];
const SHOWN_EVENTS = 100;

export class ClusterPage {
  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.signal = signal;
    /** @type {import("./lives.js").Process[]} */
    this.processes = [];
    /** @type {import("./lives.js").Happened[]} */
    this.events = [];
    this.span = 1;
    this.leader = "";
    this.note = h("p.why", { role: "status" }, "Loading…");
    this.missing = new NoWorkerBanner();
    this.spans = h("div.chips", { role: "group", "aria-label": "How far back" }, SPANS.map(([name], index) =>
      h("button.chip", { type: "button", onclick: () => this.choose(index) }, name)));
    this.picture = h("div");
    this.rows = h("tbody");
    this.log = h("pre.log", { tabindex: "0", hidden: true, role: "region", "aria-label": "Log" });
    this.logTitle = h("h3", { hidden: true });
    this.list = h("ol.events.long");
    this.live = h("span.live", { role: "status" });
    this.body = h("div", { hidden: true }, this.cards());
    this.element = h("section", { "aria-labelledby": "title" },
      h("div.bar", {}, h("h1", { id: "title" }, "Cluster"), this.live), this.missing.element, this.note, this.body);
    follow("/v1/cluster/live", {
      event: (name, data) => this.take(name, data),
      live: (live) => say(this.live, live ? "" : "Live updates are interrupted; retrying."),
      refused: (problem) => say(this.note, problem.message),
    }, signal);
    const ticking = setInterval(() => this.draw(), 1000);
    signal.addEventListener("abort", () => clearInterval(ticking));
  }

  cards() {
    const head = COLUMNS.map((name, index) => h(index > 1 && index < 5 ? "th.number" : "th", { scope: "col" },
      name || h("span.visually-hidden", {}, "Log")));
    return [
      h("section.card", {}, h("div.bar", {}, h("h2", {}, "Processes over time"), h("span.spring"), this.spans), scroller("Processes over time", this.picture), legend()),
      h("section.card", {}, h("h2", {}, "Now"), scroller("Processes now",
        h("table.compact.processes", {}, h("thead", {}, h("tr", {}, head)), this.rows)), this.logTitle, this.log),
      h("section.card", {}, h("h2", {}, "Events"), this.list),
    ];
  }

  /** @param {string} name @param {any} data */
  take(name, data) {
    if (name === "processes") {
      this.processes = data.processes.sort((/** @type {any} */ a, /** @type {any} */ b) => inOrder(a.name, b.name));
      this.leader = data.leader;
      this.missing.show(data.no_worker);
    } else if (name === "events") {
      const known = new Set(this.events.map(keyOf));
      this.events.push(...data.events.filter((/** @type {any} */ event) => !known.has(keyOf(event))));
      this.events.sort((a, b) => a.at - b.at);
    }
    set(this.body, "hidden", false);
    this.show();
  }

  /** @param {number} index */
  choose(index) {
    this.span = index;
    this.show();
  }

  show() {
    const alive = this.processes.filter((each) => each.pid > 0).length;
    const crashes = this.events.filter((event) => event.what === "crashed").length;
    const leads = this.leader ? `${this.leader} leads` : "no leader now";
    say(this.note, `${alive} of ${plural(this.processes.length, "process", "processes")} running; ${leads}; ` +
      `${plural(crashes, "crash", "crashes")} recorded${this.healing()}.`);
    keyed(this.rows, this.processes, (each) => each.name, (each) => this.makeRow(each), (row, each) => fillRow(row, each));
    const newest = [...this.events].reverse().slice(0, SHOWN_EVENTS);
    keyed(this.list, newest, keyOf, (event) => h("li", { title: event.last || null }, h("time.quiet", {}, clock(event.at)),
      h(`span.dot.${event.what.replace(/\W/g, "-")}`), words(event).slice(clock(event.at).length)));
    this.draw();
  }

  /** The downtime of the process that recovered last. */
  healing() {
    const back = [...this.events].reverse().find((event) => event.what === "recovered" && event.after_s !== null);
    return back ? `; last recovery: ${back.name}, after ${duration(back.after_s ?? 0)}` : "";
  }

  draw() {
    if (!this.processes.length) return;
    const to = now();
    const from = to - SPANS[this.span][1];
    [...this.spans.children].forEach((chip, index) => set(chip, "aria-pressed", String(index === this.span)));
    const first = !this.picture.firstElementChild;
    replace(this.picture, drawLanes(lanesOf(this.processes, this.events, from), from, to));
    // If the timeline is wider than the page, show its right end, the present.
    const area = this.picture.closest(".scroll");
    if (first && area) area.scrollLeft = area.scrollWidth;
  }

  /** @param {import("./lives.js").Process} each */
  makeRow(each) {
    const open = () => this.showLog(each.name);
    return h("tr", {}, h("th", { scope: "row" }, each.name), h("td", {}, h("span.state")), h("td.number"), h("td.number"), h("td.number"),
      h("td"), h("td"), h("td", {}, h("button.small-button", { type: "button", onclick: open, "aria-label": `Log of ${each.name}` }, "log")));
  }

  /** @param {string} name */
  async showLog(name) {
    set(this.log, "hidden", false);
    set(this.logTitle, "hidden", false);
    say(this.logTitle, `Log of ${name}`);
    try {
      const found = await getJson(`/v1/cluster/processes/${encodeURIComponent(name)}/log`, this.signal);
      say(this.log, found.text || "The log is empty.");
    } catch (problem) {
      say(this.log, problem instanceof Problem ? problem.message : String(problem));
    }
    this.log.focus();
    this.log.scrollTop = this.log.scrollHeight;
  }
}

/** @param {Element} row @param {import("./lives.js").Process} each */
function fillRow(row, each) {
  const [name, state, memory, cpu, restarts, work, heard] = row.children;
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
}

/** @param {import("./lives.js").Process} each */
function restartWords(each) {
  const { restart_in_s: seconds } = each;
  return typeof seconds === "number" ? `restarting in ${Math.max(1, Math.round(seconds))} s: ${each.reason}` : each.reason;
}

/** @param {import("./lives.js").Happened} event */
function keyOf(event) {
  return `${event.at} ${event.what} ${event.name} ${event.generation}`;
}
