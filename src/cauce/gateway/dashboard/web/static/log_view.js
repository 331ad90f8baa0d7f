// The log of a process: its last lines, or those that contain a text anywhere in it.

import { getJson, Problem } from "./api.js";
import { h, replace, say, set } from "./dom.js";
import { bytes, clock, plural } from "./format.js";
import { sleep } from "./stream.js";

const PAUSE_MS = 250;
const SHOWN = new Set(["event", "level", "time", "role", "process"]);

/**
 * A line of a log: JSON, or any other text as it is.
 * @param {string} line @returns {{at: number, level: string, event: string, fields: [string, string][]}}
 */
export function lineOf(line) {
  try {
    const found = JSON.parse(line);
    if (typeof found.event !== "string") throw new Error("not a line of the log");
    const fields = Object.entries(found).filter(([name]) => !SHOWN.has(name)).map(([name, value]) =>
      /** @type {[string, string]} */ ([name, typeof value === "string" ? value : JSON.stringify(value)]));
    return { at: Date.parse(found.time) / 1000 || 0, level: String(found.level ?? ""), event: found.event, fields };
  } catch {
    return { at: 0, level: "", event: line, fields: [] };
  }
}

export class LogView {
  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.signal = signal;
    this.name = "";
    this.asked = 0;
    this.title = h("h2");
    this.search = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Search the log", "aria-label": "Search the log",
      autocomplete: "off", spellcheck: "false", oninput: () => this.later() }));
    this.found = h("span.quiet.small", { role: "status" });
    this.lines = h("ol");
    this.box = h("div.log", { tabindex: "0", role: "region", "aria-label": "Log" }, this.lines);
    this.element = h("section.card.log-card", { hidden: true }, h("div.bar", {}, this.title, h("span.spring"), this.found, this.search,
      h("button.small-button", { type: "button", onclick: () => this.load() }, "Refresh"),
      h("button.plain", { type: "button", "aria-label": "Close the log", onclick: () => this.close() }, "×")), this.box);
  }

  /** @param {string} name */
  async open(name) {
    this.name = name;
    this.search.value = "";
    set(this.element, "hidden", false);
    say(this.title, `Log of ${name}`);
    await this.load();
    this.element.scrollIntoView({ block: "nearest" });
    this.search.focus({ preventScroll: true });
  }

  close() {
    set(this.element, "hidden", true);
    /** @type {HTMLElement | null} */ (document.querySelector(`[aria-label="Log of ${this.name}"]`))?.focus();
  }

  /** Searches when the person has paused typing. */
  async later() {
    const asked = ++this.asked;
    await sleep(PAUSE_MS, this.signal);
    if (asked === this.asked && !this.signal.aborted) await this.load();
  }

  async load() {
    const asked = ++this.asked;
    const wanted = this.search.value.trim();
    const query = wanted ? `?${new URLSearchParams({ search: wanted })}` : "";
    try {
      const found = await getJson(`/v1/cluster/processes/${encodeURIComponent(this.name)}/log${query}`, this.signal);
      if (asked === this.asked) this.show(found, wanted);
    } catch (problem) {
      if (!this.signal.aborted) replace(this.lines, h("li.error", {}, problem instanceof Problem ? problem.message : String(problem)));
    }
  }

  /** @param {{text: string, matches: number | null, searched_bytes: number}} found @param {string} wanted */
  show(found, wanted) {
    const lines = found.text.split("\n").filter(Boolean);
    const more = found.matches !== null && found.matches > lines.length ? `, the last ${lines.length} shown` : "";
    say(this.found, found.matches === null ? "the last lines" : `${plural(found.matches, "line")} in ${bytes(found.searched_bytes)}${more}`);
    const empty = h("li.quiet", {}, wanted ? "No line contains this text." : "The log is empty.");
    replace(this.lines, lines.length ? lines.map((line) => rowOf(line, wanted)) : empty);
    this.box.scrollTop = this.box.scrollHeight;
  }
}

/** @param {string} line @param {string} wanted */
function rowOf(line, wanted) {
  const { at, level, event, fields } = lineOf(line);
  return h("li", { class: level, title: line.length < 2000 ? line : null }, at ? h("time.quiet", {}, clock(at)) : null, level && level !== "info" ? h("span.level-name", {}, level) : null,
    h("span.log-event", {}, marked(event, wanted)), fields.map(([name, value]) => h("span.log-field", {}, h("span.quiet", {}, `${name}=`), marked(value, wanted))));
}

/** The text with its matches marked. @param {string} text @param {string} wanted */
function marked(text, wanted) {
  if (!wanted) return [text];
  const [low, key] = [text.toLowerCase(), wanted.toLowerCase()];
  const pieces = [];
  let from = 0;
  for (let at = low.indexOf(key); at >= 0 && low.length === text.length; at = low.indexOf(key, from)) {
    pieces.push(text.slice(from, at), h("mark", {}, text.slice(at, at + key.length)));
    from = at + key.length;
  }
  return [...pieces, text.slice(from)];
}
