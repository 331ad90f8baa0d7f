// The sections of a page as tabs that are links: each has an address. Arrows, Home and End move between them.

import { h, say, set } from "./dom.js";

/**
 * @typedef {{id: string, name: string, panel: Element}} Section
 */

export class PageTabs {
  /** @param {string} label @param {Section[]} sections @param {(id: string) => string} address @param {(id: string) => void} opened */
  constructor(label, sections, address, opened) {
    this.sections = sections;
    this.address = address;
    this.opened = opened;
    this.current = "";
    this.links = new Map(sections.map(({ id, name }) => [id, h("a.page-tab", {
      href: address(id), role: "tab", id: `section-tab-${id}`, "aria-controls": `section-${id}`,
      onclick: (/** @type {MouseEvent} */ event) => this.clicked(event, id), onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event, id),
    }, name, h("span.tab-count", { hidden: true }))]));
    this.panels = new Map(sections.map(({ id, panel }) => [id,
      h("div.page-panel", { role: "tabpanel", id: `section-${id}`, "aria-labelledby": `section-tab-${id}`, hidden: true }, panel)]));
    this.list = h("div.page-tabs", { role: "tablist", "aria-label": label }, [...this.links.values()]);
    this.element = h("div", {}, this.list, [...this.panels.values()]);
  }

  /** @param {string} id */
  open(id) {
    if (!this.links.has(id)) return;
    this.current = id;
    for (const [each, link] of this.links) {
      set(link, "aria-selected", String(each === id));
      set(link, "tabindex", each === id ? "0" : "-1");
      set(/** @type {Element} */ (this.panels.get(each)), "hidden", each !== id);
    }
    this.links.get(id)?.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.opened(id);
  }

  /** Opens a section because the person has chosen it: the address follows. @param {string} id */
  choose(id) {
    if (id === this.current) return;
    history.pushState(null, "", this.address(id));
    this.open(id);
  }

  /** @param {MouseEvent} event @param {string} id */
  clicked(event, id) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    this.choose(id);
  }

  /** @param {KeyboardEvent} event @param {string} id */
  key(event, id) {
    const at = this.sections.findIndex((section) => section.id === id);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: this.sections.length - 1 }[event.key];
    if (event.key === " ") {
      event.preventDefault();
      return this.choose(id);
    }
    if (to === undefined) return;
    event.preventDefault();
    const next = this.sections[(to + this.sections.length) % this.sections.length].id;
    this.choose(next);
    this.links.get(next)?.focus();
  }

  /** A short note after the name of a section. @param {string} id @param {string} text @param {string} [kind] */
  note(id, text, kind = "") {
    const place = /** @type {Element} */ (this.links.get(id)?.lastElementChild);
    say(place, text);
    set(place, "class", `tab-count ${kind}`);
    set(place, "hidden", !text);
  }
}
