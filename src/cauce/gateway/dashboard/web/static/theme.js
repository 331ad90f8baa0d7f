// Light, dark or system theme; stored in this browser.

import { say, set } from "./dom.js";

const KEY = "cauce-theme";
const THEMES = ["auto", "light", "dark"];
const SIGNS = /** @type {Record<string, string>} */ ({ auto: "◐", light: "☀", dark: "☾" });

export function startTheme() {
  const button = /** @type {HTMLElement} */ (document.getElementById("theme"));
  const show = (/** @type {string} */ theme) => {
    set(document.documentElement, "data-theme", theme);
    say(button, SIGNS[theme]);
    set(button, "aria-label", `Theme: ${theme}. Change it.`);
    set(button, "title", `Theme: ${theme}`);
  };
  let theme = localStorage.getItem(KEY) ?? "auto";
  if (!THEMES.includes(theme)) theme = "auto";
  show(theme);
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem(KEY, theme);
    show(theme);
  });
}
