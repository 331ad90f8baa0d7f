// The banner that no worker runs, with a button to start workers if the user may.

import { Problem, sendJson } from "./api.js";
import { h, say, set } from "./dom.js";
import { toast } from "./notices.js";

/** @typedef {{text: string, can_start: boolean}} NoWorker */

export class NoWorkerBanner {
  constructor() {
    this.text = h("p");
    this.button = h("button.primary", { type: "button", onclick: () => this.start() }, "Start the workers");
    this.element = h("div.banner", { role: "alert", hidden: true }, this.text, this.button);
  }

  /** @param {NoWorker | null | undefined} missing */
  show(missing) {
    set(this.element, "hidden", !missing);
    if (!missing) {
      set(this.button, "disabled", false);
      return;
    }
    say(this.text, `${missing.text.slice(0, 1).toUpperCase()}${missing.text.slice(1)}`);
    set(this.button, "hidden", !missing.can_start);
  }

  async start() {
    set(this.button, "disabled", true);
    try {
      const found = await sendJson("PUT", "/v1/cluster/workers", { running: true });
      toast(`Starting ${found.workers.join(", ")}`);
    } catch (problem) {
      toast(problem instanceof Problem ? problem.message : String(problem), "bad");
    }
    set(this.button, "disabled", false);
  }
}
