// Positions of the boxes of a layered graph whose order is known: each box as near to its neighbours as the others of its
// layer allow. A layer is solved exactly, by pooling adjacent violators. Pure functions.

const ROUNDS = 24;
/** The last rounds weigh the neighbours on both sides. */
const BOTH = 12;
/** Long lines are kept straight first: pieces between two bends weigh most. */
const WEIGHTS = [1, 3, 9];

/** @typedef {import("./layout.js").Placed} Placed */
/** @typedef {[Placed, Placed]} Segment */

/** @param {Placed[][]} layers @param {Segment[]} segments @param {{across: number, down: number}} gap */
export function place(layers, segments, gap) {
  stack(layers, gap);
  const pulls = pullsOf(layers, segments);
  for (let round = 0; round < ROUNDS; round++) {
    const side = round >= ROUNDS - BOTH ? "both" : round % 2 ? "behind" : "before";
    for (const layer of side === "behind" ? [...layers].reverse() : layers) settle(layer, pulls, side, gap.down);
  }
  const top = Math.min(...layers.flat().map((box) => box.y));
  for (const box of layers.flat()) box.y -= top;
}

/** Layers side by side, boxes below each other. @param {Placed[][]} layers @param {{across: number, down: number}} gap */
function stack(layers, gap) {
  let x = 0;
  for (const layer of layers) {
    const width = Math.max(0, ...layer.map((box) => box.width));
    let y = 0;
    for (const box of layer) {
      box.x = box.real ? x + (width - box.width) / 2 : x;
      if (!box.real) box.width = width;
      box.y = y;
      y += box.height + gap.down;
    }
    x += width + gap.across;
  }
}

/**
 * @typedef {{other: Placed, weight: number, side: string}} Pull
 * @param {Placed[][]} layers @param {Segment[]} segments @returns {Map<Placed, Pull[]>}
 */
function pullsOf(layers, segments) {
  const found = new Map(layers.flat().map((box) => [box, /** @type {Pull[]} */ ([])]));
  for (const [from, to] of segments) {
    const weight = WEIGHTS[Number(!from.real) + Number(!to.real)];
    found.get(from)?.push({ other: to, weight, side: "behind" });
    found.get(to)?.push({ other: from, weight, side: "before" });
  }
  return found;
}

/** Moves the boxes of a layer towards their neighbours. @param {Placed[]} layer @param {Map<Placed, Pull[]>} pulls @param {string} side @param {number} down */
function settle(layer, pulls, side, down) {
  let offset = 0;
  /** Heights are measured without the boxes above: then the order is all that remains of the constraints. */
  const wishes = layer.map((box, index) => {
    if (index) offset += layer[index - 1].height + down;
    const near = (pulls.get(box) ?? []).filter((pull) => side === "both" || pull.side === side);
    const weight = near.reduce((sum, pull) => sum + pull.weight, 0);
    const wish = weight ? near.reduce((sum, pull) => sum + pull.weight * middle(pull.other), 0) / weight - box.height / 2 : box.y;
    return { value: wish - offset, weight: weight || 0.01, offset };
  });
  increasing(wishes).forEach((value, index) => (layer[index].y = value + wishes[index].offset));
}

/**
 * The non-decreasing numbers that are nearest to the given ones, by weighted squares.
 * @param {{value: number, weight: number}[]} wishes @returns {number[]}
 */
export function increasing(wishes) {
  /** @type {{value: number, weight: number, many: number}[]} */
  const pools = [];
  for (const { value, weight } of wishes) {
    let pool = { value, weight, many: 1 };
    while (pools.length && pools[pools.length - 1].value > pool.value) {
      const above = /** @type {typeof pool} */ (pools.pop());
      const sum = above.weight + pool.weight;
      pool = { value: (above.value * above.weight + pool.value * pool.weight) / sum, weight: sum, many: above.many + pool.many };
    }
    pools.push(pool);
  }
  return pools.flatMap(({ value, many }) => Array(many).fill(value));
}

/** @param {Placed} box */
export function middle(box) {
  return box.y + box.height / 2;
}
