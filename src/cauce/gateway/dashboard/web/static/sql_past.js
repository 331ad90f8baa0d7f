// The list of statements that were run. A click restores one, with its answers while they are kept.

import { now } from "./api.js";
import { h, replace, say } from "./dom.js";
import { ago } from "./format.js";
import { forget, runsOf } from "./sql_history.js";

export class PastRuns {
  /** @param {(run: import("./sql_history.js").Run) => void} restore */
  constructor(restore) {
    this.restore = restore;
    this.dataset = "";
    this.title = h("summary", {}, "History");
    this.list = h("ol.past");
    this.empty = h("p.quiet.small", {}, "Statements that you run are listed here, in this browser only.");
    this.clear = h("button.small-button", { type: "button", onclick: () => this.forgetAll() }, "Clear history");
    this.element = h("details.past-runs", {}, this.title, this.empty, this.list, this.clear);
  }

  /** @param {string} dataset */
  show(dataset) {
    this.dataset = dataset;
    const runs = runsOf(dataset);
    say(this.title, runs.length ? `History (${runs.length})` : "History");
    this.empty.hidden = runs.length > 0;
    this.clear.hidden = !runs.length;
    replace(this.list, runs.map((run) => h("li", {}, h("button.past-run", { type: "button", title: run.sql, onclick: () => this.restore(run) },
      h("code", {}, run.sql.trim()), h("span.quiet.small", {}, noteOf(run))))));
  }

  forgetAll() {
    forget(this.dataset);
    this.show(this.dataset);
    this.title.focus();
  }
}

/** @param {import("./sql_history.js").Run} run */
function noteOf(run) {
  const given = Object.entries(run.parameters).map(([name, value]) => `$${name} = ${value}`);
  return [ago(now() - run.at), ...given].join(" · ");
}
