// What the page says beside its content: short notices, questions before something is undone for good, and the token.

import { h } from "./dom.js";

const SHOWN_MS = 6000;

/** @param {string} text @param {"good" | "bad"} [kind] */
export function toast(text, kind = "good") {
  const place = /** @type {HTMLElement} */ (document.getElementById("notices"));
  const close = () => notice.remove();
  const notice = h(`div.notice.${kind}`, {}, h("span", {}, text),
    h("button.plain", { type: "button", "aria-label": "Close this notice", onclick: close }, "×"));
  place.append(notice);
  if (kind === "good") setTimeout(close, SHOWN_MS);
}

/**
 * @param {string} question @param {string} detail @param {string} yes
 * @returns {Promise<boolean>}
 */
export async function confirmed(question, detail, yes) {
  const go = h("button.danger", { type: "submit", value: "yes" }, yes);
  const stay = h("button", { type: "submit", value: "" }, "Not now");
  return (await ask(question, [h("p", {}, detail)], [stay, go])) === "yes";
}

/** @returns {Promise<string | null>} */
export async function tokenAsked() {
  const input = /** @type {HTMLInputElement} */ (
    h("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false", required: true }));
  const go = h("button.primary", { type: "submit", value: "yes" }, "Use it");
  const stay = h("button", { type: "submit", value: "", formnovalidate: true }, "Without");
  const words = "This service asks for a token. Whoever runs it makes one with `cauce token create NAME`. " +
    "It is kept until this tab is closed.";
  const answer = await ask("Token needed", [h("p", {}, words), h("label", { for: "token" }, "Token"), input], [stay, go]);
  return answer === "yes" ? input.value.trim() || null : null;
}

/** @param {string} title @param {Node[]} body @param {Node[]} buttons @returns {Promise<string>} */
function ask(title, body, buttons) {
  const dialog = /** @type {HTMLDialogElement} */ (
    h("dialog", { "aria-labelledby": "question" },
      h("form", { method: "dialog" }, h("h2", { id: "question" }, title), body, h("div.bar.end", {}, buttons))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}
