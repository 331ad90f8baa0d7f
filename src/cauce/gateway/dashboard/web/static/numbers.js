// Formats numbers of answers: grouped thousands and few digits. The exact text is kept beside them. Pure functions.

const NAMING = new Set(["id", "ids", "key", "code", "uuid", "isbn", "zip", "postcode", "phone", "line", "year", "decade", "hour", "month", "day"]);
const MOST_PLACES = 4;
const PARTS = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Whether the numbers of a column are identifiers, such as ids and years, which are not grouped. @param {string} column */
export function isNaming(column) {
  const words = column.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1_$2").toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return NAMING.has(words[words.length - 1]);
}

/**
 * 12345678.123456789 as 12,345,678.1235.
 * @param {string} exact as the service wrote it @param {boolean} [naming] then every digit is shown, ungrouped
 */
export function readable(exact, naming = false) {
  const found = PARTS.exec(exact);
  if (!found) return scientific(exact);
  const [, sign, whole, fraction = ""] = found;
  if (naming && !fraction) return exact;
  const [units, places] = fraction.length > MOST_PLACES ? rounded(whole, fraction) : [whole, fraction];
  const grouped = naming ? units : units.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${sign}${grouped}${places ? `.${places}` : ""}`;
}

/** Four decimals; four significant digits of what is smaller than one. @param {string} whole @param {string} fraction */
function rounded(whole, fraction) {
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0;
  const places = /^0+$/.test(whole) ? Math.min(zeros + MOST_PLACES, fraction.length) : MOST_PLACES;
  const up = (fraction[places] ?? "0") >= "5" ? 1n : 0n;
  const digits = String(BigInt(whole + fraction.slice(0, places)) + up).padStart(places + 1, "0");
  return [digits.slice(0, digits.length - places), digits.slice(digits.length - places).replace(/0+$/, "")];
}

/** @param {string} exact with an exponent, or no number at all */
function scientific(exact) {
  const value = Number(exact);
  if (Number.isNaN(value)) return exact;
  return /e/i.test(exact) ? String(Number(value.toPrecision(MOST_PLACES + 1))) : exact;
}
