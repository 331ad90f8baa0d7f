// A region that scrolls sideways when its content is too wide, and shows that it does.

import { h, set } from "./dom.js";

const LEEWAY = 2;

/**
 * @param {string} label of the region, for assistive technology
 * @param {Element} content
 * @param {string} [hint] shown only while some of the content is out of sight
 */
export function scroller(label, content, hint = "Scroll sideways to see all of it.") {
  const area = h("div.scroll", { tabindex: "0", role: "region", "aria-label": label }, content);
  const note = h("p.scroll-hint", { hidden: true }, hint);
  const frame = h("div.scroll-frame", {}, h("div.scroll-shade", {}, area), note);
  const look = () => {
    const beyond = area.scrollWidth - area.clientWidth;
    frame.classList.toggle("more-left", beyond > LEEWAY && area.scrollLeft > LEEWAY);
    frame.classList.toggle("more-right", beyond - area.scrollLeft > LEEWAY);
    set(note, "hidden", beyond <= LEEWAY);
  };
  let asked = 0;
  const later = () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(look);
  };
  const watch = new ResizeObserver(later);
  watch.observe(area);
  watch.observe(content);
  area.addEventListener("scroll", later, { passive: true });
  return frame;
}
