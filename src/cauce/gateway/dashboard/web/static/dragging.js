// Moves a view by dragging it with a pointer, and zooms it with two fingers.

const DRAG_FROM = 4;

/** @typedef {{clientX: number, clientY: number}} Point */
/** @typedef {{pan: (dx: number, dy: number) => void, zoom: (factor: number, around?: Point) => void}} View */

export class Dragging {
  /** @param {HTMLElement} frame the window that is dragged @param {View} view */
  constructor(frame, view) {
    this.frame = frame;
    this.view = view;
    this.dragged = false;
    /** @type {Map<number, {x: number, y: number}>} */
    this.pointers = new Map();
    frame.addEventListener("pointerdown", (event) => this.down(event));
    frame.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) frame.addEventListener(name, (event) => this.up(/** @type {PointerEvent} */ (event)));
    // The end of a drag is not a click on the box below it.
    frame.addEventListener("click", (event) => this.dragged && event.stopPropagation(), { capture: true });
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (event.button > 0) return;
    this.dragged = false;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  /** @param {PointerEvent} event */
  move(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
    if (!this.dragged && Math.hypot(dx, dy) < DRAG_FROM) return;
    if (!this.dragged) this.frame.setPointerCapture(event.pointerId);
    this.dragged = true;
    const before = this.spread();
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.pointers.size === 2 && before) this.view.zoom(this.spread() / before, this.centre());
    else this.view.pan(dx, dy);
  }

  /** @param {PointerEvent} event */
  up(event) {
    this.pointers.delete(event.pointerId);
  }

  /** The distance of two fingers. */
  spread() {
    const [one, other] = [...this.pointers.values()];
    return other ? Math.hypot(one.x - other.x, one.y - other.y) : 0;
  }

  centre() {
    const [one, other] = [...this.pointers.values()];
    return { clientX: (one.x + other.x) / 2, clientY: (one.y + other.y) / 2 };
  }
}
