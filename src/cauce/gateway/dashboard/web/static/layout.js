// Layered layout of a directed acyclic graph, after Sugiyama: layers from left to right, an order within each layer with
// few crossings, then positions that make lines straight. A pure function of the graph.

import { order } from "./layout_order.js";
import { middle, place } from "./layout_place.js";

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
  const layers = order(byLayer(placed), segmentsOf(chains));
  place(layers, segmentsOf(chains), gap);
  const all = [...placed.values()];
  return {
    width: Math.max(0, ...all.map((box) => box.x + box.width)),
    height: Math.max(0, ...all.map((box) => box.y + box.height)),
    boxes: new Map(all.filter((box) => box.real).map((box) => [box.id, box])),
    paths: pathsOf(chains),
  };
}

/** Puts each box one layer after its last input. A box with more outputs than inputs then moves right, to its first
 * consumer, which makes its lines shorter. @param {Box[]} boxes @param {Line[]} lines */
function layered(boxes, lines) {
  /** @type {Map<string, Placed>} */
  const placed = new Map();
  for (const box of boxes) {
    const before = lines.filter((line) => line.to === box.id).map((line) => placed.get(line.from)?.layer ?? 0);
    placed.set(box.id, { ...box, layer: before.length ? Math.max(...before) + 1 : 0, x: 0, y: 0, real: true });
  }
  for (const box of [...placed.values()].reverse()) {
    const inputs = lines.filter((line) => line.to === box.id).length;
    const behind = lines.filter((line) => line.from === box.id).map((line) => placed.get(line.to)?.layer ?? 1);
    if (behind.length > inputs) box.layer = Math.min(...behind) - 1;
  }
  const used = [...new Set([...placed.values()].map((box) => box.layer))].sort((a, b) => a - b);
  for (const box of placed.values()) box.layer = used.indexOf(box.layer);
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

/** The pieces of all lines between neighbouring layers. @param {[Line, Placed[]][]} chains @returns {[Placed, Placed][]} */
function segmentsOf(chains) {
  return chains.flatMap(([, chain]) => chain.slice(1).map((box, index) => /** @type {[Placed, Placed]} */ ([chain[index], box])));
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
