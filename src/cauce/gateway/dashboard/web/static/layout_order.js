// The order of boxes within each layer: sweeps by the median of the neighbours, then swaps of neighbouring boxes; the order
// with the fewest crossings is kept. Pure functions.

const SWEEPS = 24;
const PATIENCE = 6;

/** @typedef {import("./layout.js").Placed} Placed */
/** @typedef {[Placed, Placed]} Segment between neighbouring layers */

/** @param {Placed[][]} layers @param {Segment[]} segments @returns {Placed[][]} */
export function order(layers, segments) {
  const beside = neighbours(layers, segments);
  let best = layers;
  let fewest = crossings(layers, segments);
  let current = layers;
  for (let sweep = 0, idle = 0; sweep < SWEEPS && idle < PATIENCE && fewest; sweep++, idle++) {
    current = swapped(swept(current, beside, sweep % 2 === 0), beside);
    const found = crossings(current, segments);
    if (found >= fewest) continue;
    [best, fewest, idle] = [current, found, -1];
  }
  return best;
}

/** How many pairs of segments cross. @param {Placed[][]} layers @param {Segment[]} segments */
export function crossings(layers, segments) {
  const at = positions(layers);
  /** @type {Map<number, [number, number][]>} */
  const byLayer = new Map();
  for (const [from, to] of segments) {
    if (!byLayer.has(from.layer)) byLayer.set(from.layer, []);
    byLayer.get(from.layer)?.push([at.get(from) ?? 0, at.get(to) ?? 0]);
  }
  let found = 0;
  for (const pairs of byLayer.values()) {
    for (let one = 1; one < pairs.length; one++) {
      for (let other = 0; other < one; other++) {
        if ((pairs[one][0] - pairs[other][0]) * (pairs[one][1] - pairs[other][1]) < 0) found += 1;
      }
    }
  }
  return found;
}

/** @param {Placed[][]} layers */
function positions(layers) {
  return new Map(layers.flatMap((layer) => layer.map((box, index) => /** @type {[Placed, number]} */ ([box, index]))));
}

/**
 * @typedef {{before: Placed[], behind: Placed[]}} Beside
 * @param {Placed[][]} layers @param {Segment[]} segments @returns {Map<Placed, Beside>}
 */
function neighbours(layers, segments) {
  const found = new Map(layers.flat().map((box) => [box, /** @type {Beside} */ ({ before: [], behind: [] })]));
  for (const [from, to] of segments) {
    found.get(from)?.behind.push(to);
    found.get(to)?.before.push(from);
  }
  return found;
}

/** Sorts each layer by the medians of its neighbours in the layer visited before. @param {Placed[][]} layers @param {Map<Placed, Beside>} beside @param {boolean} forth */
function swept(layers, beside, forth) {
  const made = [...layers];
  const at = positions(layers);
  const visited = forth ? made.keys() : [...made.keys()].reverse();
  for (const number of visited) {
    const wish = new Map(made[number].map((box) => {
      const near = beside.get(box)?.[forth ? "before" : "behind"] ?? [];
      return [box, near.length ? median(near.map((each) => at.get(each) ?? 0)) : null];
    }));
    made[number] = sorted(made[number], wish);
    made[number].forEach((box, index) => at.set(box, index));
  }
  return made;
}

/** Boxes without a wish keep their place. @param {Placed[]} layer @param {Map<Placed, number | null>} wish */
function sorted(layer, wish) {
  const moving = layer.filter((box) => wish.get(box) !== null);
  moving.sort((a, b) => Number(wish.get(a)) - Number(wish.get(b)));
  let next = 0;
  return layer.map((box) => (wish.get(box) === null ? box : moving[next++]));
}

/** The mean of the two middle ones of an even number. @param {number[]} values */
function median(values) {
  const inOrder = [...values].sort((a, b) => a - b);
  const half = (inOrder.length - 1) / 2;
  return (inOrder[Math.floor(half)] + inOrder[Math.ceil(half)]) / 2;
}

/** Swaps neighbouring boxes while that removes crossings. @param {Placed[][]} layers @param {Map<Placed, Beside>} beside */
function swapped(layers, beside) {
  const at = positions(layers);
  for (let improved = true, rounds = 0; improved && rounds < SWEEPS; rounds++) {
    improved = false;
    for (const layer of layers) {
      for (let index = 1; index < layer.length; index++) {
        const [upper, lower] = [layer[index - 1], layer[index]];
        if (between(upper, lower, beside, at) <= between(lower, upper, beside, at)) continue;
        [layer[index - 1], layer[index]] = [lower, upper];
        at.set(lower, index - 1).set(upper, index);
        improved = true;
      }
    }
  }
  return layers;
}

/** Crossings of the segments of two boxes if the first is above. @param {Placed} upper @param {Placed} lower @param {Map<Placed, Beside>} beside @param {Map<Placed, number>} at */
function between(upper, lower, beside, at) {
  let found = 0;
  for (const side of /** @type {("before" | "behind")[]} */ (["before", "behind"])) {
    for (const one of beside.get(upper)?.[side] ?? []) {
      for (const other of beside.get(lower)?.[side] ?? []) if (Number(at.get(one)) > Number(at.get(other))) found += 1;
    }
  }
  return found;
}
