// Layout of a directed acyclic graph: layers from left to right, with few crossings.
// A pure function of the graph.

const SWEEPS = 8;

/**
 * @typedef {{id: string, width: number, height: number}} Box
 * @typedef {{id: string, from: string, to: string}} Line
 * @typedef {{id: string, width: number, height: number, layer: number, x: number, y: number, real: boolean}} Placed
 * @typedef {{width: number, height: number, boxes: Map<string, Placed>, paths: Map<string, [number, number][]>}} Layout
 */

/**
 * @param {Box[]} boxes in an order in which they can run
 * @param {Line[]} lines
 * @param {{across: number, down: number}} gap between layers, and between boxes of one
 * @returns {Layout}
 */
export function layout(boxes, lines, gap) {
  const placed = layered(boxes, lines);
  const chains = lines.map((line) => chainOf(line, placed));
  const layers = byLayer(placed);
  order(layers, chains);
  place(layers, gap, chains);
  const all = [...placed.values()];
  return {
    width: Math.max(0, ...all.map((box) => box.x + box.width)),
    height: Math.max(0, ...all.map((box) => box.y + box.height)),
    boxes: new Map(all.filter((box) => box.real).map((box) => [box.id, box])),
    paths: pathsOf(chains),
  };
}

/** Puts each box one layer after its last input; sources go right before their first consumer.
 * @param {Box[]} boxes @param {Line[]} lines */
function layered(boxes, lines) {
  /** @type {Map<string, Placed>} */
  const placed = new Map();
  for (const box of boxes) {
    const before = lines.filter((line) => line.to === box.id).map((line) => placed.get(line.from)?.layer ?? 0);
    placed.set(box.id, { ...box, layer: before.length ? Math.max(...before) + 1 : 0, x: 0, y: 0, real: true });
  }
  for (const box of [...placed.values()].reverse()) {
    if (lines.some((line) => line.to === box.id)) continue;
    const behind = lines.filter((line) => line.from === box.id).map((line) => placed.get(line.to)?.layer ?? 1);
    if (behind.length) box.layer = Math.min(...behind) - 1;
  }
  return placed;
}

/** A line that crosses layers gets a placeholder box in each.
 * @param {Line} line @param {Map<string, Placed>} placed @returns {[Line, Placed[]]} */
function chainOf(line, placed) {
  const from = /** @type {Placed} */ (placed.get(line.from));
  const to = /** @type {Placed} */ (placed.get(line.to));
  const chain = [from];
  for (let layer = from.layer + 1; layer < to.layer; layer++) {
    const empty = { id: `${line.id}@${layer}`, width: 0, height: 18, layer, x: 0, y: 0, real: false };
    placed.set(empty.id, empty);
    chain.push(empty);
  }
  return [line, [...chain, to]];
}

/** @param {Map<string, Placed>} placed */
function byLayer(placed) {
  /** @type {Placed[][]} */
  const layers = [];
  for (const box of placed.values()) (layers[box.layer] ??= []).push(box);
  return layers;
}

/** Sorts each layer by the positions of its neighbours, in alternating sweeps. @param {Placed[][]} layers @param {[Line, Placed[]][]} chains */
function order(layers, chains) {
  /** @type {Map<Placed, {before: Placed[], behind: Placed[]}>} */
  const beside = new Map(layers.flat().map((box) => [box, { before: [], behind: [] }]));
  for (const [, chain] of chains) {
    for (let i = 1; i < chain.length; i++) {
      beside.get(chain[i])?.before.push(chain[i - 1]);
      beside.get(chain[i - 1])?.behind.push(chain[i]);
    }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const forth = sweep % 2 === 0;
    for (const layer of forth ? layers : [...layers].reverse()) {
      const at = new Map(layers.flatMap((each) => each.map((box, index) => [box, (index + 0.5) / each.length])));
      const wish = new Map(layer.map((box) => {
        const near = /** @type {{before: Placed[], behind: Placed[]}} */ (beside.get(box))[forth ? "before" : "behind"];
        const places = near.map((each) => at.get(each) ?? 0);
        return [box, places.length ? places.reduce((a, b) => a + b, 0) / places.length : at.get(box) ?? 0];
      }));
      layer.sort((a, b) => (wish.get(a) ?? 0) - (wish.get(b) ?? 0));
    }
  }
}

/** @param {Placed[][]} layers @param {{across: number, down: number}} gap @param {[Line, Placed[]][]} chains */
function place(layers, gap, chains) {
  let x = 0;
  const heights = layers.map((layer) => layer.reduce((sum, box) => sum + box.height + gap.down, -gap.down));
  const tallest = Math.max(0, ...heights);
  layers.forEach((layer, index) => {
    const width = Math.max(0, ...layer.map((box) => box.width));
    let y = (tallest - heights[index]) / 2;
    for (const box of layer) {
      box.x = x;
      if (!box.real) box.width = width;
      box.y = y;
      y += box.height + gap.down;
    }
    x += width + gap.across;
  });
  for (let round = 0; round < 4; round++) straighten(layers, chains, gap.down);
  const top = Math.min(...layers.flat().map((box) => box.y));
  for (const box of layers.flat()) box.y -= top;
}

/** Moves boxes towards the middle of their neighbours, without overlaps in their layer.
 * @param {Placed[][]} layers @param {[Line, Placed[]][]} chains @param {number} down */
function straighten(layers, chains, down) {
  /** @type {Map<Placed, number[]>} */
  const pulls = new Map(layers.flat().map((box) => [box, []]));
  for (const [, chain] of chains) {
    for (let i = 1; i < chain.length; i++) {
      pulls.get(chain[i])?.push(middle(chain[i - 1]));
      pulls.get(chain[i - 1])?.push(middle(chain[i]));
    }
  }
  for (const layer of layers) {
    layer.forEach((box, index) => {
      const near = pulls.get(box) ?? [];
      if (!near.length) return;
      const wish = near.reduce((a, b) => a + b, 0) / near.length - box.height / 2;
      const above = layer[index - 1];
      const below = layer[index + 1];
      const least = above ? above.y + above.height + down : -Infinity;
      const most = below ? below.y - box.height - down : Infinity;
      box.y = Math.max(least, Math.min(most, wish));
    });
  }
}

/** @param {Placed} box */
function middle(box) {
  return box.y + box.height / 2;
}

/** Separates lines that leave or enter the same box, in the order of their other ends.
 * @param {[Line, Placed[]][]} chains @returns {Map<string, [number, number][]>} */
function pathsOf(chains) {
  const leaves = ports(chains, (chain) => chain[0], (chain) => chain[1]);
  const enters = ports(chains, (chain) => chain[chain.length - 1], (chain) => chain[chain.length - 2]);
  return new Map(chains.map(([line, chain]) => [line.id, chain.flatMap((box, index) => {
    /** @type {[number, number][]} */
    const points = [];
    if (index > 0) points.push([box.x, index === chain.length - 1 ? enters.get(line.id) ?? middle(box) : middle(box)]);
    if (index < chain.length - 1) points.push([box.x + box.width, index === 0 ? leaves.get(line.id) ?? middle(box) : middle(box)]);
    return points;
  })]));
}

/** The height at which each line meets its box. @param {[Line, Placed[]][]} chains
 * @param {(chain: Placed[]) => Placed} boxOf @param {(chain: Placed[]) => Placed} otherOf @returns {Map<string, number>} */
function ports(chains, boxOf, otherOf) {
  /** @type {Map<Placed, [Line, Placed[]][]>} */
  const found = new Map();
  for (const each of chains) found.set(boxOf(each[1]), [...(found.get(boxOf(each[1])) ?? []), each]);
  /** @type {Map<string, number>} */
  const heights = new Map();
  for (const [box, lines] of found) {
    lines.sort((a, b) => middle(otherOf(a[1])) - middle(otherOf(b[1])));
    lines.forEach(([line], index) => heights.set(line.id, box.y + (box.height * (index + 1)) / (lines.length + 1)));
  }
  return heights;
}
