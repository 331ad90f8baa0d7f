// Scales of charts: value ranges, round ticks and their texts. Pure functions.

import { short } from "./format.js";
import { readable } from "./numbers.js";

/** A linear scale with round ticks. @param {number} least @param {number} most @param {number} from @param {number} to */
export function scaleOf(least, most, from, to) {
  const span = most - least || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  const ticks = [];
  for (let number = Math.ceil(least / step); number * step <= most + step / 1e6; number++) ticks.push(number * step);
  return { ticks, step, at: (/** @type {number} */ value) => from + ((value - least) / span) * (to - from) };
}

/** Formats a tick with enough digits to distinguish two ticks. @param {number} tick @param {number} step */
export function tickText(tick, step) {
  const text = short(tick);
  if (Math.abs(tick) < 1000 || text !== short(tick + step)) return text;
  return readable(String(Number(tick.toPrecision(12))));
}

/** The value range. It starts at zero unless the values would then fill only a thin stripe. @param {number[]} values @returns {[number, number]} */
export function range(values) {
  const [least, most] = bounds(values);
  return least > most / 2 ? extent(values) : [Math.min(0, least), Math.max(0, most)];
}

/** @param {number[]} values @returns {[number, number]} */
export function extent(values) {
  const [least, most] = bounds(values);
  const air = (most - least || 1) * 0.05;
  return [least - air, most + air];
}

/** @param {number[]} values @returns {[number, number]} */
function bounds(values) {
  return values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
}
