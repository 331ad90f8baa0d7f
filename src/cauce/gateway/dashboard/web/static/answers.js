// The answers of a job, one tab each, as they arrive.

import { datasets } from "./datasets.js";
import { h, replace } from "./dom.js";
import { ENDED } from "./progress.js";
import { answerOf, answerWords, ResultView } from "./results.js";
import { tabs } from "./tabs.js";

/** @typedef {import("./progress.js").Status} Status */

export class Answers {
  /** @param {string} job @param {AbortSignal} signal @param {(query: string) => void} chosen called when the person has chosen one */
  constructor(job, signal, chosen) {
    this.job = job;
    this.chosen = chosen;
    /** The answer that is to be shown first. */
    this.wanted = "";
    this.signal = signal;
    /** @type {Status | null} */
    this.status = null;
    /** @type {Map<string, ResultView>} */
    this.views = new Map();
    this.element = h("div", {}, h("p.quiet", {}, "Loading…"));
  }

  /** Loads missing rows of the answer that is shown. @param {Status} status */
  async refresh(status) {
    this.status = status;
    if (!this.views.size) await this.make(status);
    this.label(status);
    const chosen = this.tabs?.chosen();
    if (chosen) this.views.get(chosen)?.refresh(status);
  }

  /** @param {Status} status */
  async make(status) {
    for (const query of status.queries) this.views.set(query, new ResultView(answerOf(this.job, query), this.signal));
    const questions = await this.questions(status.dataset);
    const made = [...this.views].map(([query, view]) => {
      const question = questions.get(query);
      return { id: query, panel: h("div", {}, question ? h("p.question", {}, question) : null, view.element) };
    });
    this.tabs = tabs("Answers", made, (query) => this.status && this.views.get(query)?.refresh(this.status), this.chosen);
    replace(this.element, this.tabs.element);
    if (this.wanted) this.tabs.open(this.wanted);
  }

  /** @param {string} query */
  open(query) {
    this.wanted = query;
    this.tabs?.open(query);
  }

  /** The page has another size, or shows the answers again. */
  resized() {
    this.views.get(this.tabs?.chosen() ?? "")?.redraw();
  }

  /** Questions of declared queries by name. @param {string} dataset @returns {Promise<Map<string, string>>} */
  async questions(dataset) {
    const known = await datasets(this.signal).catch(() => []);
    const queries = known.find((each) => each.name === dataset)?.queries ?? [];
    return new Map(queries.map((query) => [query.name, query.question]));
  }

  /** @param {Status} status */
  label(status) {
    for (const query of status.queries) {
      const answer = status.answers[query];
      if (answer) this.tabs?.label(query, answerWords(answer, ENDED.has(status.state)), answer.complete);
    }
  }
}
