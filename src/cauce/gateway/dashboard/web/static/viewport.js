// A window onto a large drawing: drag to move it, pinch or Ctrl + wheel to zoom, and the same by buttons and keys.

import { h, set } from "./dom.js";
import { Dragging } from "./dragging.js";

const STEP = 1.25;
const LEAST = 0.1;
const MOST = 2.5;
/** The smallest scale at which a drawing is shown at first: its texts stay readable. */
const READABLE = 0.85;
const LOWEST = 200;
const KEY_STEP = 60;

/** @typedef {{x: number, y: number, width: number, height: number}} Box */

export class Viewport {
  /** @param {SVGElement} picture @param {string} label */
  constructor(picture, label) {
    this.picture = picture;
    this.size = { width: 0, height: 0 };
    this.view = { x: 0, y: 0, scale: 1 };
    /** Whether the person has moved or zoomed: then a change of the window keeps the view. */
    this.touched = false;
    /** The part of the drawing that stays in sight if the window changes. @type {Box | null} */
    this.wanted = null;
    this.lastWidth = 0;
    this.hint = h("span", { hidden: true }, "The plan is larger than this window: drag it, or zoom with + and −. ");
    this.frame = h("div.viewport", { tabindex: "0", role: "region", "aria-label": label, onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event) }, picture);
    const button = (/** @type {string} */ name, /** @type {string} */ title, /** @type {() => void} */ act) =>
      h("button.small-button", { type: "button", "aria-label": title, title, onclick: act }, name);
    this.controls = h("div.zoom", { role: "group", "aria-label": "Size of the plan" },
      button("−", "Zoom out", () => this.zoom(1 / STEP)), button("+", "Zoom in", () => this.zoom(STEP)),
      button("Fit", "Whole plan", () => this.fit()), button("1:1", "Readable size", () => this.start()));
    this.element = h("div.viewport-frame", {},
      h("div.plan-bar", {}, h("p.quiet.small", {}, this.hint, "Choose a stage to see its numbers."), this.controls), this.frame);
    this.listen();
  }

  listen() {
    const { frame } = this;
    frame.addEventListener("wheel", (event) => {
      // The wheel alone scrolls the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), event);
    }, { passive: false });
    new Dragging(frame, this);
    new ResizeObserver(() => requestAnimationFrame(() => this.fitted())).observe(this.element);
  }

  /** @param {number} width @param {number} height of the drawing at its natural size */
  resize(width, height) {
    this.size = { width, height };
    this.start();
  }

  /** The window has another width. */
  fitted() {
    const { width } = this.room();
    if (width === this.lastWidth || !this.frame.clientWidth) return;
    this.lastWidth = width;
    if (this.touched) this.apply();
    else this.start();
    if (this.wanted) this.bring(this.wanted);
  }

  /** Keeps a part of the drawing in sight, or none. @param {Box | null} box */
  keep(box) {
    this.wanted = box;
    if (box) this.bring(box);
  }

  /** As wide as the window while readable; a drawing that is wider starts at its left end. */
  start() {
    this.touched = false;
    this.show(Math.min(1, Math.max(READABLE, this.room().width / this.size.width)));
  }

  /** The whole drawing. */
  fit() {
    this.touched = true;
    this.show(Math.min(1, this.room().width / this.size.width, this.tallest() / this.size.height));
  }

  /** @param {number} scale */
  show(scale) {
    if (!this.size.width) return;
    const height = Math.min(Math.max(this.size.height * scale, LOWEST), this.tallest());
    this.frame.style.height = `${Math.round(height)}px`;
    const room = this.room();
    const [wide, high] = [room.width / scale, room.height / scale];
    // A drawing that is smaller than the window is centred.
    this.view = { scale, x: Math.min(0, (this.size.width - wide) / 2), y: (this.size.height - high) / 2 };
    this.apply();
  }

  tallest() {
    return Math.max(340, Math.round(window.innerHeight * 0.64));
  }

  room() {
    return { width: this.frame.clientWidth || 800, height: this.frame.clientHeight || LOWEST };
  }

  apply() {
    const { width, height } = this.room();
    const { x, y, scale } = this.view;
    set(this.picture, "viewBox", `${x} ${y} ${width / scale} ${height / scale}`);
    set(this.picture, "data-scale", scale.toFixed(3));
    set(this.hint, "hidden", this.size.width * scale <= width + 2 && this.size.height * scale <= height + 2);
  }

  /** @param {number} factor @param {{clientX: number, clientY: number}} [around] the point that stays where it is */
  zoom(factor, around) {
    this.touched = true;
    const { width, height } = this.room();
    const box = this.frame.getBoundingClientRect();
    const [px, py] = around ? [around.clientX - box.left, around.clientY - box.top] : [width / 2, height / 2];
    const scale = Math.min(MOST, Math.max(LEAST, this.view.scale * factor));
    const shift = 1 / this.view.scale - 1 / scale;
    this.view = { scale, x: this.view.x + px * shift, y: this.view.y + py * shift };
    this.keepInSight();
  }

  /** @param {number} dx @param {number} dy in pixels */
  pan(dx, dy) {
    this.touched = true;
    this.view.x -= dx / this.view.scale;
    this.view.y -= dy / this.view.scale;
    this.keepInSight();
  }

  /** Some of the drawing always stays in the window. */
  keepInSight() {
    const { width, height } = this.room();
    const { scale } = this.view;
    const between = (/** @type {number} */ value, /** @type {number} */ room, /** @type {number} */ size) =>
      Math.min(Math.max(value, -room / scale / 2), size - room / scale / 2);
    this.view.x = between(this.view.x, width, this.size.width);
    this.view.y = between(this.view.y, height, this.size.height);
    this.apply();
  }

  /** As `bring`, by a person, whose view stays. @param {Box} box */
  reveal(box) {
    this.touched = true;
    this.bring(box);
  }

  /** Moves the window so that a part of the drawing is in it. @param {Box} box */
  bring(box) {
    const { width, height } = this.room();
    const { x, y, scale } = this.view;
    const off = (/** @type {number} */ from, /** @type {number} */ size, /** @type {number} */ start, /** @type {number} */ room) =>
      Math.min(0, from - 12 - start) + Math.max(0, from + size + 12 - start - room / scale);
    this.view = { scale, x: x + off(box.x, box.width, x, width), y: y + off(box.y, box.height, y, height) };
    this.keepInSight();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = /** @type {Record<string, () => void>} */ ({
      "+": () => this.zoom(STEP), "=": () => this.zoom(STEP), "-": () => this.zoom(1 / STEP), 0: () => this.fit(),
      ...(event.target === this.frame ? {
        ArrowLeft: () => this.pan(KEY_STEP, 0), ArrowRight: () => this.pan(-KEY_STEP, 0),
        ArrowUp: () => this.pan(0, KEY_STEP), ArrowDown: () => this.pan(0, -KEY_STEP),
      } : {}),
    })[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}
