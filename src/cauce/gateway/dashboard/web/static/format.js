// Numbers and times in words. Pure functions.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** 1,234,567 @param {number} value */
export function count(value) {
  return whole.format(value);
}

/** 1.23 M @param {number} value */
export function short(value) {
  for (const [unit, size] of /** @type {[string, number][]} */ ([["G", 1e9], ["M", 1e6], ["k", 1e3]])) {
    if (Math.abs(value) >= size) return `${three.format(value / size)} ${unit}`;
  }
  return three.format(value);
}

/** 3.4 MB @param {number} value */
export function bytes(value) {
  return value < 1000 ? `${whole.format(value)} B` : `${short(value)}B`;
}

/** "2 parts", "1 part" @param {number} value @param {string} one @param {string} [many] */
export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** 84 % @param {number} share */
export function percent(share) {
  return `${Math.round(share * 100)} %`;
}

/** 2 min 14 s @param {number} seconds */
export function duration(seconds) {
  const left = Math.max(0, seconds);
  if (left < 10) return `${left.toFixed(left < 1 ? 2 : 1)} s`;
  if (left < 60) return `${Math.round(left)} s`;
  const minutes = Math.floor(left / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(left % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** 14:03:22, with the day if it is not today @param {number} at seconds since 1970 */
export function clock(at) {
  const when = new Date(at * 1000);
  const time = when.toTimeString().slice(0, 8);
  return when.toDateString() === new Date().toDateString() ? time : `${day(when)} ${time}`;
}

/** 2026-11-16 14:03:22, in the time zone of this browser @param {number} at seconds since 1970 */
export function moment(at) {
  const when = new Date(at * 1000);
  return `${day(when)} ${when.toTimeString().slice(0, 8)}`;
}

/** 1116-140322, for ids @param {Date} when */
export function stamp(when) {
  return `${day(when).slice(5).replace("-", "")}-${when.toTimeString().slice(0, 8).replaceAll(":", "")}`;
}

/** "5 min ago" @param {number} seconds */
export function ago(seconds) {
  if (seconds < 5) return "just now";
  const [size, unit] = /** @type {[number, string][]} */ ([[86_400, "day"], [3600, "h"], [60, "min"], [1, "s"]])
    .find(([each]) => seconds >= each) ?? [1, "s"];
  const units = Math.floor(seconds / size);
  return `${units} ${unit}${unit === "day" && units > 1 ? "s" : ""} ago`;
}

/** @param {Date} when */
function day(when) {
  const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
  return `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`;
}
