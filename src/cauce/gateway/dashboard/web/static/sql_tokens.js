// SQL text cut into tokens, for colours and positions. It never rejects a text: the service decides what is valid.
// Pure functions.

const TOKEN = new RegExp([
  /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))/,
  /(?<text>'(?:[^']|'')*(?:'|$)|\$\$[\s\S]*?(?:\$\$|$))/,
  /(?<name>"(?:[^"]|"")*(?:"|$))/,
  /(?<parameter>\$[A-Za-z_]\w*)/,
  /(?<number>\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)/,
  /(?<word>[\p{L}_][\p{L}\p{N}_]*)/,
  /(?<space>\s+)/,
  /(?<other>[\s\S])/,
].map((each) => each.source).join("|"), "gu");
const PLAIN = /^[a-z_][a-z0-9_]*$/i;
const KEYWORDS = new Set(`all and any anti as asc between by case cast cross cube current date desc distinct else end escape
  except exclude exists extract false filter first following for from full group grouping groups having ilike in inner
  intersect interval is join last lateral left like limit natural not null nulls offset on or order outer over partition
  preceding qualify range recursive replace right rollup row rows select semi sets similar some table then ties time
  timestamp to true try_cast unbounded union unnest using values when where window with within`.split(/\s+/));

/**
 * @typedef {"comment" | "text" | "name" | "parameter" | "number" | "word" | "keyword" | "space" | "other"} Kind
 * @typedef {{kind: Kind, text: string, at: number}} Token `at` is an offset in UTF-16 units, as those of a text field
 * @typedef {{from: number, to: number}} Span
 * @typedef {{kind: Kind, text: string, wrong: boolean}} Piece
 */

/** @param {string} sql @returns {Token[]} */
export function tokens(sql) {
  return [...sql.matchAll(TOKEN)].map((found) => {
    const kind = /** @type {Kind} */ (Object.entries(found.groups ?? {}).find(([, text]) => text !== undefined)?.[0]);
    return { kind: kind === "word" && KEYWORDS.has(found[0].toLowerCase()) ? "keyword" : kind, text: found[0], at: found.index };
  });
}

/** The names of the parameters, such as year of $year, in the order of their first use. @param {string} sql @returns {string[]} */
export function parametersIn(sql) {
  return [...new Set(tokens(sql).filter((token) => token.kind === "parameter").map((token) => token.text.slice(1)))];
}

/** A name as it is written in SQL: quoted if it must be. @param {string} name */
export function identifier(name) {
  return PLAIN.test(name) && !KEYWORDS.has(name.toLowerCase()) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** The offset of a place. Its column counts characters, an offset UTF-16 units. @param {string} sql @param {number} line @param {number} column */
export function offsetOf(sql, line, column) {
  const lines = sql.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return Math.min(sql.length, before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length);
}

/**
 * The token at a place, or the whole of a dotted name, up to the end of its line. At the end of the text, or in a gap,
 * it is the character before.
 * @param {string} sql @param {number} line @param {number} column @returns {Span}
 */
export function spanAt(sql, line, column) {
  const offset = offsetOf(sql, line, column);
  const found = tokens(sql);
  const index = found.findIndex((each) => each.at <= offset && offset < each.at + each.text.length);
  if (index >= 0 && found[index].kind !== "space") {
    const end = sql.indexOf("\n", offset);
    return { from: offset, to: Math.min(endOfName(found, index), end < 0 ? sql.length : end) };
  }
  const last = sql.slice(0, offset).trimEnd().length;
  return { from: Math.max(0, last - 1), to: last };
}

/** @param {Token[]} found @param {number} index */
function endOfName(found, index) {
  const isName = (/** @type {Token | undefined} */ token) => token?.kind === "word" || token?.kind === "name" || token?.kind === "keyword";
  let last = index;
  while (isName(found[last]) && found[last + 1]?.text === "." && isName(found[last + 2])) last += 2;
  return found[last].at + found[last].text.length;
}

/** The text line by line, each in coloured pieces. @param {string} sql @param {Span | null} wrong @returns {Piece[][]} */
export function linesOf(sql, wrong) {
  /** @type {Piece[][]} */
  const lines = [[]];
  for (const { kind, text, at } of tokens(sql).flatMap((token) => cut(token, wrong))) {
    const marked = wrong !== null && at >= wrong.from && at < wrong.to;
    text.split("\n").forEach((piece, index) => {
      if (index) lines.push([]);
      if (piece) lines[lines.length - 1].push({ kind, text: piece, wrong: marked });
    });
  }
  return lines;
}

/** @param {Token} token @param {Span | null} span @returns {Token[]} */
function cut(token, span) {
  const inside = [span?.from ?? 0, span?.to ?? 0].map((offset) => Math.min(Math.max(offset - token.at, 0), token.text.length));
  const edges = [0, ...inside, token.text.length];
  return edges.slice(1).map((edge, index) => ({ ...token, text: token.text.slice(edges[index], edge), at: token.at + edges[index] }))
    .filter((each) => each.text);
}
