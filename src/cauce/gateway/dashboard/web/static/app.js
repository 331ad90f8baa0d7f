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

/**
 * @typedef {{element: Element, title: string, goTo?: (where: string[]) => void}} Shown `goTo` opens another part of the page
 * @typedef {{name: string, about: string, where: string[], query: string}} Route
 * @param {string} hash @returns {Route}
 */
function routeOf(hash) {
  const [path, query = ""] = hash.split("?");
  const [, name = "", about = "", ...where] = path.split("/").map(decoded);
  return { name: name || "jobs", about, where, query };
}

/** @param {Route} route @param {AbortSignal} signal @returns {Shown} */
function pageOf({ name, about, where, query }, signal) {
  if (name === "job" && about) {
    const page = new JobPage(about, where, signal);
    return { element: page.element, title: about, goTo: (to) => page.goTo(to) };
  }
  if (name === "sql") return { element: new SqlPage(about, where[0] ?? "", signal).element, title: "SQL" };
  if (name === "cluster") return { element: new ClusterPage(signal).element, title: "Cluster" };
  if (name === "new") return { element: new NewPage(signal).element, title: "New job" };
  return { element: new JobsPage(query, signal).element, title: "Jobs" };
}

/** @type {{route: Route, page: Shown} | null} */
let current = null;

function open() {
  const route = routeOf(location.hash);
  const same = current?.page.goTo && current.route.name === route.name && current.route.about === route.about;
  if (same) return current?.page.goTo?.(route.where);
  leaving.abort();
  leaving = new AbortController();
  const page = pageOf(route, leaving.signal);
  const first = current === null;
  current = { route, page };
  document.title = `${page.title} · Cauce`;
  replace(main, page.element);
  const section = route.name === "job" ? "jobs" : route.name;
  for (const link of document.querySelectorAll("nav a")) {
    set(link, "aria-current", link.getAttribute("data-page") === section ? "page" : null);
  }
  window.scrollTo(0, 0);
  // The link that was followed is gone with its page: go on with the keyboard from the new one.
  if (!first && document.activeElement === document.body) main.focus({ preventScroll: true });
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
