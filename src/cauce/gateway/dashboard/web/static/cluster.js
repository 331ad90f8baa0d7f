// The cluster page: health, the timeline of every process, what each does now, logs and events.

import { now } from "./api.js";
import { h, keyed, replace, say, set } from "./dom.js";
import { clock } from "./format.js";
import { Health } from "./health.js";
import { drawLanes, legend, words } from "./lanes.js";
import { inOrder, lanesOf } from "./lives.js";
import { LogView } from "./log_view.js";
import { NoWorkerBanner } from "./no_worker.js";
import { ProcessTable } from "./process_table.js";
import { follow } from "./stream.js";

const SPANS = /** @type {[string, number][]} */ ([["1 min", 60], ["5 min", 300], ["30 min", 1800], ["6 h", 21_600], ["7 days", 604_800]]);
const SHOWN_EVENTS = 100;

export class ClusterPage {
  /** @param {AbortSignal} signal */
  constructor(signal) {
    /** @type {import("./lives.js").Process[]} */
    this.processes = [];
    /** @type {import("./lives.js").Happened[]} */
    this.events = [];
    this.span = 1;
    this.leader = "";
    this.operator = false;
    this.health = new Health();
    this.missing = new NoWorkerBanner();
    this.log = new LogView(signal);
    this.table = new ProcessTable((name) => this.log.open(name));
    this.spans = h("div.segments", { role: "group", "aria-label": "How far back" }, SPANS.map(([name], index) =>
      h("button.segment", { type: "button", onclick: () => this.choose(index) }, name)));
    this.picture = h("div");
    this.list = h("ol.events.long");
    this.live = h("span.live", { role: "status" });
    this.body = h("div", { hidden: true }, this.cards());
    this.element = h("section", { "aria-labelledby": "title" },
      h("div.bar", {}, h("h1", { id: "title" }, "Cluster"), this.live), this.missing.element, this.health.element, this.body);
    follow("/v1/cluster/live", {
      event: (name, data) => this.take(name, data),
      live: (live) => say(this.live, live ? "" : "Live updates are interrupted; retrying."),
      refused: (problem) => this.health.refuse(problem.message),
    }, signal);
    new ResizeObserver(() => requestAnimationFrame(() => this.draw())).observe(this.body);
    const ticking = setInterval(() => this.draw(), 1000);
    signal.addEventListener("abort", () => clearInterval(ticking));
  }

  cards() {
    return [
      h("section.card", {}, h("h2", {}, "Processes"), this.table.element),
      this.log.element,
      h("section.card", {}, h("div.bar", {}, h("h2", {}, "Processes over time"), h("span.spring"), this.spans), this.picture, legend()),
      h("section.card", {}, h("h2", {}, "Events"), h("div.events-box", { tabindex: "0", role: "region", "aria-label": "Events" }, this.list)),
    ];
  }

  /** @param {string} name @param {any} data */
  take(name, data) {
    if (name === "processes") {
      this.processes = data.processes.sort((/** @type {any} */ a, /** @type {any} */ b) => inOrder(a.name, b.name));
      this.leader = data.leader;
      this.operator = data.operator;
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
    if (!this.processes.length) return;
    this.health.show(this.processes, this.leader, this.events, now());
    this.table.show(this.processes, this.operator);
    const newest = [...this.events].reverse().slice(0, SHOWN_EVENTS);
    keyed(this.list, newest, keyOf, (event) => h("li", { title: event.last || null }, h("time.quiet", {}, clock(event.at)),
      h(`span.dot.${event.what.replace(/\W/g, "-")}`), words(event).slice(clock(event.at).length)));
    this.draw();
  }

  draw() {
    if (!this.processes.length) return;
    const to = now();
    const from = to - SPANS[this.span][1];
    [...this.spans.children].forEach((chip, index) => set(chip, "aria-pressed", String(index === this.span)));
    replace(this.picture, drawLanes(lanesOf(this.processes, this.events, from), from, to, this.picture.clientWidth));
  }
}

/** @param {import("./lives.js").Happened} event */
function keyOf(event) {
  return `${event.at} ${event.what} ${event.name} ${event.generation}`;
}
