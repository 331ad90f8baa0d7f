// Questions to the person. Enter does the main action of a dialog, Escape leaves everything as it is.

import { refusalOf, setToken } from "./api.js";
import { h, replace, set } from "./dom.js";

/**
 * @typedef {{title: string, detail: string, action: string, keep: string}} Question `action` and `keep` are the names
 *   of the two buttons
 * @param {Question} question
 * @returns {Promise<boolean>}
 */
export async function confirmed({ title, detail, action, keep }) {
  const go = h("button.danger", { type: "submit", value: "yes", autofocus: true }, action);
  const stay = h("button", { type: "submit", value: "" }, keep);
  return (await ask(title, [h("p", {}, detail)], [go, stay])) === "yes";
}

/**
 * Asks until the service accepts a token, or the person goes on without one.
 * @param {boolean} rejected whether the token of this tab was refused just now
 * @returns {Promise<boolean>}
 */
export async function tokenAsked(rejected) {
  const input = /** @type {HTMLInputElement} */ (
    h("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false", autofocus: true, "aria-describedby": "token-error" }));
  const wrong = h("p.error", { id: "token-error", role: "alert" }, rejected ? "The service no longer accepts the token of this tab." : "");
  const go = h("button.primary", { type: "submit", value: "yes" }, "Use this token");
  const stay = h("button", { type: "button", onclick: () => stay.closest("dialog")?.close("") }, "Continue without");
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    set(go, "disabled", true);
    const refusal = await refusalOf(input.value.trim());
    set(go, "disabled", false);
    set(input, "aria-invalid", refusal ? "true" : null);
    replace(wrong, refusal);
    if (refusal) return input.select();
    setToken(input.value.trim());
    go.closest("dialog")?.close("yes");
  };
  const words = "This service needs a token. Its operator creates one with `cauce token create NAME`. It is kept until this tab is closed.";
  const body = [h("p", {}, words), h("label", { for: "token" }, "Token"), input, wrong];
  return (await ask("Token needed", body, [go, stay], submit)) === "yes";
}

/**
 * @param {string} title @param {Node[]} body @param {Node[]} buttons the main action first: Enter presses it
 * @param {(event: Event) => void} [submit]
 * @returns {Promise<string>}
 */
function ask(title, body, buttons, submit) {
  const dialog = /** @type {HTMLDialogElement} */ (
    h("dialog", { "aria-labelledby": "question" },
      h("form", { method: "dialog", ...(submit ? { onsubmit: submit } : {}) },
        h("h2", { id: "question" }, title), body, h("div.bar.buttons", {}, buttons))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}
