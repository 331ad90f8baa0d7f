// Tabs with keyboard support: arrows move, Home and End jump.

import { h, replace, say, set } from "./dom.js";

/**
 * @param {string} name
 * @param {{id: string, panel: Element}[]} items
 * @param {(id: string) => void} opened
 * @param {(id: string) => void} [chosen] called when the person has opened one
 */
export function tabs(name, items, opened, chosen = () => {}) {
  let current = items[0]?.id ?? "";
  const buttons = new Map(items.map((item) => [item.id, h("button.tab", {
    type: "button", role: "tab", id: `tab-${item.id}`, "aria-controls": "tab-panel",
    onclick: () => choose(item.id), onkeydown: (/** @type {KeyboardEvent} */ event) => move(event, item.id),
  }, h("span.tab-name", { title: item.id }, item.id), h("span.tab-note"))]));
  const panel = h("div", { role: "tabpanel", id: "tab-panel", tabindex: "-1" });
  const list = h("div.tabs", { role: "tablist", "aria-label": name }, [...buttons.values()]);

  /** @param {string} id */
  function choose(id) {
    open(id);
    chosen(id);
  }

  /** @param {string} id */
  function open(id) {
    if (!buttons.has(id)) return;
    current = id;
    for (const [each, button] of buttons) {
      set(button, "aria-selected", String(each === id));
      set(button, "tabindex", each === id ? "0" : "-1");
    }
    set(panel, "aria-labelledby", `tab-${id}`);
    replace(panel, items.find((item) => item.id === id)?.panel);
    opened(id);
  }

  /** @param {KeyboardEvent} event @param {string} id */
  function move(event, id) {
    const at = items.findIndex((item) => item.id === id);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = items[(to + items.length) % items.length].id;
    choose(next);
    buttons.get(next)?.focus();
  }

  open(current);
  return {
    open,
    element: h("div", {}, list, panel),
    chosen: () => current,
    label(/** @type {string} */ id, /** @type {string} */ note, /** @type {boolean} */ good) {
      const button = /** @type {Element} */ (buttons.get(id));
      say(/** @type {Element} */ (button.lastElementChild), ` · ${note}`);
      button.classList.toggle("ready", good);
    },
  };
}
