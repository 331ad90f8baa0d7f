// Buttons that save a whole answer as a file, in each of its formats.

import { Problem, request, token } from "./api.js";
import { h } from "./dom.js";
import { toast } from "./notices.js";

/** @param {{path: string, name: string, forms: string[]}} what @param {AbortSignal} signal */
export function downloadButtons(what, signal) {
  return h("span.downloads", {}, what.forms.map((form) =>
    h("button", { type: "button", title: `Download all rows as ${form}`, onclick: () => save(what, form, signal) }, form)));
}

/** @param {{path: string, name: string}} what @param {string} form @param {AbortSignal} signal */
async function save(what, form, signal) {
  const path = `${what.path}?format=${form}`;
  const name = `${what.name}.${form}`;
  try {
    if (!token()) return follow(path, name);
    const response = await request(path, { signal });
    const address = URL.createObjectURL(await response.blob());
    follow(address, name);
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  } catch (problem) {
    toast(problem instanceof Problem ? problem.message : String(problem), "bad");
  }
}

/** @param {string} address @param {string} name */
function follow(address, name) {
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}
