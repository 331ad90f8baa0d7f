// The area where files are dropped or chosen for a new job.

import { h } from "./dom.js";
import { collect } from "./dropped.js";

/** @typedef {import("./match.js").Given} Given */

/** @param {(given: Given[]) => void} take */
export function dropZone(take) {
  const picked = (/** @type {Event} */ event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    take([...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath.split("/").slice(1).join("/") || file.name, file })));
    input.value = "";
  };
  const files = h("input.hidden-input", { type: "file", multiple: true, id: "pick-files", onchange: picked });
  const folder = h("input.hidden-input", { type: "file", webkitdirectory: true, id: "pick-folder", onchange: picked });
  const zone = h("div.drop", {
    ondragover: (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      zone.classList.add("over");
    },
    ondragleave: () => zone.classList.remove("over"),
    ondrop: async (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      zone.classList.remove("over");
      if (event.dataTransfer) take(await collect(event.dataTransfer));
    },
  }, h("p", {}, "Drop files or a folder here, or choose"),
  h("div.bar.centre", {}, files, h("label.button", { for: "pick-files" }, "Files"), folder, h("label.button", { for: "pick-folder" }, "A folder")));
  return zone;
}
