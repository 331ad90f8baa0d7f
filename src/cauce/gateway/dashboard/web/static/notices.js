// Short notices below the page's header. They cover no content and disappear by themselves.

import { h } from "./dom.js";

const SHOWN_MS = { good: 6000, bad: 15_000 };
const MOST = 3;

/** @param {string} text @param {"good" | "bad"} [kind] */
export function toast(text, kind = "good") {
  const place = /** @type {HTMLElement} */ (document.getElementById("notices"));
  const notice = h(`div.notice.${kind}`, {}, h("span", {}, text),
    h("button.plain", { type: "button", "aria-label": "Close this notice", onclick: () => inPlace(() => notice.remove()) }, "×"));
  inPlace(() => {
    place.append(notice);
    while (place.children.length > MOST) place.firstElementChild?.remove();
  });
  expire(notice, SHOWN_MS[kind]);
}

/** Removes it after a while, but not while somebody points at it or has the focus in it. @param {HTMLElement} notice @param {number} ms */
function expire(notice, ms) {
  setTimeout(() => {
    if (notice.matches(":hover, :focus-within")) expire(notice, ms);
    else inPlace(() => notice.remove());
  }, ms);
}

/** Without scroll anchoring: the content moves down below a new notice instead of staying behind it. @param {() => void} change */
function inPlace(change) {
  const root = document.documentElement;
  root.classList.add("moving");
  change();
  requestAnimationFrame(() => requestAnimationFrame(() => root.classList.remove("moving")));
}
