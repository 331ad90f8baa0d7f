// How long the last jobs took and how many of them failed: some numbers and a small chart.

import { h, replace, s, set } from "./dom.js";
import { count, duration, moment, percent } from "./format.js";
import { BROKEN } from "./progress.js";

/** @typedef {import("./progress.js").Status} Status */

const MOST = 80;
const HEIGHT = 76;
const LABEL = 56;
const MARKS_S = [0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 360_000];

/** The jobs that a worker has ended, oldest first. @param {Status[]} jobs @returns {{job: string, owner: string, state: string, created: number, took_s: number}[]} */
export function tookOf(jobs) {
  return jobs.filter((status) => status.ended !== null && status.created && (status.state === "done" || BROKEN.has(status.state)))
    .map((status) => ({ job: status.job, owner: status.owner, state: status.state, created: status.created, took_s: Number(status.ended) - status.created }))
    .sort((a, b) => a.created - b.created);
}

/** @param {number[]} values @param {number} share */
export function quantile(values, share) {
  const inOrder = [...values].sort((a, b) => a - b);
  return inOrder[Math.max(0, Math.ceil(share * inOrder.length) - 1)] ?? 0;
}

export class JobHistory {
  constructor() {
    this.drawn = "";
    this.numbers = h("dl.numbers");
    this.chart = h("div.took-chart");
    this.element = h("section.card.job-history", { "aria-label": "Times of the last jobs", hidden: true }, this.numbers, this.chart);
    new ResizeObserver(() => this.draw()).observe(this.chart);
    /** @type {ReturnType<typeof tookOf>} */
    this.jobs = [];
    this.owner = "";
  }

  /** @param {Status[]} jobs those that the filter shows @param {string} owner whose jobs can be opened */
  show(jobs, owner) {
    this.owner = owner;
    this.jobs = tookOf(jobs);
    const key = this.jobs.map((each) => each.owner + each.job + each.state).join(" ");
    set(this.element, "hidden", !this.jobs.length);
    if (key === this.drawn) return;
    this.drawn = key;
    const times = this.jobs.filter((each) => each.state === "done").map((each) => each.took_s);
    const failed = this.jobs.filter((each) => each.state !== "done").length;
    const facts = [
      ["Failed", failed ? `${count(failed)} of ${count(this.jobs.length)}` : `0 of ${count(this.jobs.length)}`, failed ? percent(failed / this.jobs.length) : "", failed ? "bad" : ""],
      ["Median time", times.length ? duration(quantile(times, 0.5)) : "–", "", ""],
      ["95 % within", times.length ? duration(quantile(times, 0.95)) : "–", "", ""],
    ];
    replace(this.numbers, facts.map(([name, value, more, kind]) =>
      h("div", {}, h("dt", {}, name), h("dd", { class: kind }, value, more ? h("span.quiet.small", {}, ` ${more}`) : null))));
    this.draw();
  }

  draw() {
    const width = this.chart.clientWidth;
    if (!width || !this.jobs.length) return;
    replace(this.chart, chartOf(this.jobs.slice(-Math.min(MOST, Math.floor((width - LABEL) / 6))), width, this.owner));
  }
}

/** Bars on a logarithmic scale: times differ by orders of magnitude. @param {ReturnType<typeof tookOf>} jobs @param {number} width @param {string} owner */
function chartOf(jobs, width, owner) {
  const times = jobs.map((each) => Math.max(each.took_s, 0.001));
  const least = Math.max(...MARKS_S.filter((mark) => mark <= Math.min(...times)), 0.001);
  const most = MARKS_S.find((mark) => mark >= Math.max(...times)) ?? Math.max(...times);
  const y = (/** @type {number} */ value) => HEIGHT - 4 - ((Math.log(value) - Math.log(least)) / (Math.log(most) - Math.log(least) || 1)) * (HEIGHT - 14);
  const step = (width - LABEL) / Math.max(jobs.length, 24);
  const marks = [least, ...MARKS_S.filter((mark) => mark > least && mark <= most)].map((mark) => s("g.grid", {},
    s("line", { x1: LABEL, x2: width, y1: y(mark), y2: y(mark) }), s("text.value", { x: LABEL - 6, y: y(mark) + 4, "text-anchor": "end" }, markText(mark))));
  const bars = jobs.map((each, index) => s("g", { class: `took ${each.state}${each.owner === owner ? " own" : ""}`, onclick: each.owner === owner ? () => (location.hash = `#/job/${encodeURIComponent(each.job)}`) : null },
    s("title", {}, `${each.job}${each.owner === owner ? "" : ` of ${each.owner}`}: ${each.state}, ${duration(each.took_s)}, started ${moment(each.created)}`),
    s("rect.took-ground", { x: LABEL + index * step, y: 0, width: step, height: HEIGHT }),
    s("rect.took-bar", { x: LABEL + index * step + 1, y: Math.min(y(times[index]), HEIGHT - 6), width: Math.max(step - 2, 2), height: Math.max(HEIGHT - 4 - y(times[index]), 2), rx: 1.5 })));
  return s("svg.chart", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img",
    "aria-label": `Times of the last ${jobs.length} jobs, from ${duration(Math.min(...times))} to ${duration(Math.max(...times))}, on a logarithmic scale` }, marks, bars);
}

/** @param {number} seconds */
function markText(seconds) {
  if (seconds < 1) return `${seconds * 1000} ms`;
  return seconds < 60 ? `${seconds} s` : seconds < 3600 ? `${seconds / 60} min` : `${seconds / 3600} h`;
}
