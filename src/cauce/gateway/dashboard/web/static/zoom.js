// The size of a drawing: as wide as the page while readable, or as the user chooses.

import { h, set } from "./dom.js";

const SMALLEST = 0.8;
const STEP = 1.25;
const LEAST = 0.2;
const MOST = 2;

export class Zoom {
  /** @param {SVGElement} picture */
  constructor(picture) {
    this.picture = picture;
    this.width = 0;
    /** @type {number | null} null: as wide as the page, but readable */
    this.scale = null;
    const button = (/** @type {string} */ name, /** @type {string} */ label, /** @type {() => void} */ act) =>
      h("button.small-button", { type: "button", "aria-label": label, title: label, onclick: act }, name);
    this.element = h("div.bar.zoom", { role: "group", "aria-label": "Size of the plan" },
      button("−", "Smaller", () => this.choose(this.current() / STEP)), button("+", "Larger", () => this.choose(this.current() * STEP)),
      button("Whole plan", "Whole plan", () => this.choose(this.fit())), button("Readable", "Readable size", () => this.choose(null)));
  }

  /** @param {number} width of the picture at its natural size */
  resize(width) {
    this.width = width;
    this.choose(this.scale);
  }

  /** @param {number | null} scale */
  choose(scale) {
    this.scale = scale === null ? null : Math.min(MOST, Math.max(Math.min(LEAST, this.fit()), scale));
    const { style } = this.picture;
    style.width = this.scale === null ? "100%" : `${this.width * this.scale}px`;
    style.minWidth = this.scale === null ? `${this.width * SMALLEST}px` : "0";
    style.maxWidth = this.scale === null ? `${this.width}px` : "none";
    set(this.picture, "data-scale", this.scale === null ? "auto" : this.scale.toFixed(2));
  }

  current() {
    return this.picture.getBoundingClientRect().width / this.width || 1;
  }

  /** The scale at which the whole drawing is visible. */
  fit() {
    const room = this.picture.parentElement?.clientWidth ?? this.width;
    return Math.min(1, room / this.width);
  }
}
