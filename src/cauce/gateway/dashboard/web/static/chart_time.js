// Dates on the axis of a chart: recognised in texts, and round ticks between two of them. Pure functions, in UTC.

const DATE = /^(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(Z|[-+]\d{2}:?\d{2})?)?)?)?$/;
const PERIOD = /^\d{4}[-/ ]?[HSQW]\d{1,2}$/i;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Widths of ticks: in milliseconds, or in months. @type {{ms?: number, months?: number}[]} */
const STEPS = [
  ...[1, 5, 15, 30].map((many) => ({ ms: many * MINUTE })), ...[1, 3, 6, 12].map((many) => ({ ms: many * HOUR })),
  ...[1, 2, 7, 14].map((many) => ({ ms: many * DAY })), ...[1, 3, 6, 12, 24, 60, 120, 240, 600, 1200].map((months) => ({ months })),
];

/** Whether the text names a day, month, year or time. @param {string} text */
export function isDate(text) {
  return instantOf(text) !== null;
}

/** Whether the text names a half-year, quarter or week, which only an axis of names can show. @param {string} text */
export function isPeriod(text) {
  return PERIOD.test(text);
}

/** Milliseconds since 1970; null if it is not a date. @param {string} text @returns {number | null} */
export function instantOf(text) {
  const found = DATE.exec(text);
  if (!found) return null;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map((part, index) => Number(part ?? (index === 1 || index === 2 ? 1 : 0)));
  if (month < 1 || month > 12 || day < 1 || day > 31) return null;
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, day);
  at.setUTCHours(hour, minute, second);
  return at.getTime() - zoneOf(found[7] ?? "");
}

/** @param {string} zone as in +02:00 */
function zoneOf(zone) {
  const found = /^([-+])(\d{2}):?(\d{2})$/.exec(zone);
  if (!found) return 0;
  return (found[1] === "-" ? -1 : 1) * (Number(found[2]) * HOUR + Number(found[3]) * MINUTE);
}

/** @param {number} from @param {number} to @param {number} most @returns {{at: number, label: string}[]} */
export function timeTicks(from, to, most) {
  for (const step of STEPS) {
    const many = (to - from) / (step.ms ?? Number(step.months) * 30.4 * DAY);
    if (many > most) continue;
    const ticks = step.ms ? evenTicks(from, to, step.ms) : monthTicks(from, to, Number(step.months));
    return ticks.map((at, index) => ({ at, label: labelOf(at, step, index === 0) }));
  }
  return [];
}

/** @param {number} from @param {number} to @param {number} step */
function evenTicks(from, to, step) {
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

/** @param {number} from @param {number} to @param {number} step */
function monthTicks(from, to, step) {
  const start = new Date(from);
  const first = start.getUTCFullYear() * 12 + start.getUTCMonth();
  const found = [];
  for (let month = Math.floor(first / step) * step; found.length < 1000; month += step) {
    const at = new Date(0).setUTCFullYear(Math.floor(month / 12), month % 12, 1);
    if (at > to) break;
    if (at >= from) found.push(at);
  }
  return found;
}

/** The year is named where it changes. @param {number} at @param {{ms?: number, months?: number}} step @param {boolean} first */
function labelOf(at, step, first) {
  const when = new Date(at);
  const year = when.getUTCFullYear();
  if (step.months && step.months >= 12) return String(year);
  const month = MONTHS[when.getUTCMonth()];
  if (step.months) return first || when.getUTCMonth() < step.months ? `${month} ${year}` : month;
  if (Number(step.ms) >= DAY) return first ? `${when.getUTCDate()} ${month} ${year}` : `${when.getUTCDate()} ${month}`;
  const time = when.toISOString().slice(11, 16);
  return first || time === "00:00" ? `${when.getUTCDate()} ${month} ${time}` : time;
}
