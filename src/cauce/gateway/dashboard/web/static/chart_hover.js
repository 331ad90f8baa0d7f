// The values of a line chart at the moment that is pointed at, or reached with the arrow keys.

import { h, replace, s, set } from "./dom.js";
import { readable } from "./numbers.js";

const MARGIN = 12;

/**
 * @param {SVGElement} picture @param {import("./chart_choice.js").Lines} chart @param {number[]} x
 * @param {(value: number) => number} y @param {{top: number, bottom: number}} box
 */
export function hovering(picture, chart, x, y, box) {
  const line = s("line.cross", { y1: box.top, y2: box.bottom, visibility: "hidden" });
  const dots = chart.series.map((_, number) => s(`circle.cross-dot.colour-${number}`, { r: 4, visibility: "hidden" }));
  const tip = h("div.chart-tip", { role: "status", hidden: true });
  const area = h("div.chart-area", { tabindex: "0", role: "group", "aria-label": "Values of the chart; arrow keys move along it" }, picture, tip);
  picture.append(line, ...dots);
  let shown = -1;

  /** @param {number} index */
  const show = (index) => {
    shown = Math.max(0, Math.min(x.length - 1, index));
    const scale = picture.getBoundingClientRect().width / Number(picture.getAttribute("width"));
    set(line, "x1", x[shown]);
    set(line, "x2", x[shown]);
    set(line, "visibility", "visible");
    chart.series.forEach((one, number) => {
      const value = one.values[shown];
      set(dots[number], "visibility", value === null ? "hidden" : "visible");
      if (value !== null) [["cx", x[shown]], ["cy", y(value)]].forEach(([name, at]) => set(dots[number], String(name), at));
    });
    replace(tip, h("strong", {}, chart.x[shown]), h("ul", {}, chart.series.flatMap((one, number) => (one.values[shown] === null ? [] :
      [h("li", {}, h(`span.key.colour-${number}`), h("span.tip-name", {}, one.name), h("span.number", {}, readable(String(one.values[shown]))))]))));
    tip.hidden = false;
    const at = x[shown] * scale;
    const left = at + MARGIN + tip.offsetWidth > area.clientWidth ? at - MARGIN - tip.offsetWidth : at + MARGIN;
    tip.style.left = `${Math.max(0, left)}px`;
  };
  const hide = () => {
    shown = -1;
    tip.hidden = true;
    for (const each of [line, ...dots]) set(each, "visibility", "hidden");
  };

  area.addEventListener("pointermove", (event) => {
    const bounds = picture.getBoundingClientRect();
    const at = ((event.clientX - bounds.left) / bounds.width) * Number(picture.getAttribute("width"));
    show(nearest(x, at));
  });
  area.addEventListener("pointerleave", hide);
  area.addEventListener("blur", hide);
  area.addEventListener("keydown", (event) => {
    const to = { ArrowRight: shown + 1, ArrowLeft: shown < 0 ? x.length - 1 : shown - 1, Home: 0, End: x.length - 1 }[event.key];
    if (event.key === "Escape") hide();
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  });
  return area;
}

/** The index of the nearest of ascending numbers. @param {number[]} numbers @param {number} value */
export function nearest(numbers, value) {
  let [low, high] = [0, numbers.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low > 0 && value - numbers[low - 1] < numbers[low] - value ? low - 1 : low;
}
