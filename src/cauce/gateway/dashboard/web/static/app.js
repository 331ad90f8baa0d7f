// Entry point: routing between pages, theme and token.

import { onUnauthorized } from "./api.js";
import { ClusterPage } from "./cluster.js";
import { startHeartbeat } from "./connection.js";
import { tokenAsked } from "./dialogs.js";
import { h, replace, set } from "./dom.js";
import { JobPage } from "./job.js";
import { JobsPage } from "./jobs.js";
import { NewPage } from "./new.js";
import { SqlPage } from "./sql.js";
import { startTheme } from "./theme.js";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
let leaving = new AbortController();

/** @param {string} text part of an address, as somebody may have typed it */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} hash @param {AbortSignal} signal @returns {{element: Element, title: string}} */
function pageOf(hash, signal) {
  const [, name = "jobs", about = "", more = ""] = hash.split("/").map(decoded);
  if (name === "job" && about) return { element: new JobPage(about, signal).element, title: about };
  if (name === "sql") return { element: new SqlPage(about, more, signal).element, title: "SQL" };
  if (name === "cluster") return { element: new ClusterPage(signal).element, title: "Cluster" };
  if (name === "new") return { element: new NewPage(signal).element, title: "New job" };
  return { element: new JobsPage(signal).element, title: "Jobs" };
}

function open() {
  leaving.abort();
  leaving = new AbortController();
  const { element, title } = pageOf(location.hash, leaving.signal);
  document.title = `${title} · Cauce`;
  replace(main, element);
  const section = location.hash.split("/")[1] || "jobs";
  for (const link of document.querySelectorAll("nav a")) {
    set(link, "aria-current", link.getAttribute("data-page") === section ? "page" : null);
  }
  window.scrollTo(0, 0);
}

/** Shows uncaught errors, so that the page never fails silently. @param {unknown} reason */
function broken(reason) {
  if (reason instanceof DOMException && reason.name === "AbortError") return;
  replace(/** @type {HTMLElement} */ (document.getElementById("broken")),
    h("p", {}, `This page has an error: ${reason instanceof Error ? reason.message : String(reason)}. Reload it.`));
}

window.addEventListener("error", (event) => broken(event.error));
window.addEventListener("unhandledrejection", (event) => {
  if (event.reason instanceof DOMException && event.reason.name === "AbortError") event.preventDefault();
  else broken(event.reason);
});
window.addEventListener("hashchange", () => {
  // An anchor within the page, such as the skip link, is not a route.
  if (!location.hash || location.hash.startsWith("#/")) open();
});
onUnauthorized(tokenAsked);
startHeartbeat();
startTheme();
open();
