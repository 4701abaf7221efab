// How large the box of a closed group is: boxes.py, for what is opened in the page.

import { LETTER } from "./chips";
import { heatOf, inWords, norm, type Heat } from "./heat";
import type { Model } from "./model";
import { general } from "./numbers";

export const GATE = 13; // half the height of a gate
export const LONGEST_GROUP = 34; // characters
const ROW = 15; // the height of a line of text
const LONGEST_VALUE = 26;

export interface Box { lead: number; gate: number; wide: number; above: number; below: number }

export function boxOf(model: Model, k: number): Box {
  const { nodes, arrays, stage } = model;
  const gate = nodes.op[k] ? Math.max(2 * GATE, Math.min(nodes.symbol[k].length, LONGEST_GROUP) * LETTER + 14) : 0;
  const heat = heatOf(arrays.value[k]);
  const slope = heatOf(arrays.adjoint[k]);
  const name = groupName(model, k);
  const value = heat || !nodes.value[k] ? nodes.shape[k] : short(arrays.value[k] ? inWords(arrays.value[k]) : nodes.value[k]);
  let adjoint = stage === "backward" ? nodes.adjoint[k] || nodes.status[k] : "";
  if (arrays.adjoint[k] && adjoint) adjoint = slope ? `norm ${general(norm(arrays.adjoint[k]), 3)}` : inWords(arrays.adjoint[k]);
  const head = name.length + (value ? value.length + 1 : 0);
  const text = Math.max(head, adjoint ? short(adjoint).length + 1.6 : 0) * LETTER;
  const table = Math.max(0, ...[heat, slope].map((made) => (made ? made.columns * made.cell : 0)));
  const high = (made: Heat | null) => (made ? made.rows * made.cell + 5 : 0);
  return {
    lead: 0, gate, wide: gate + Math.max(Math.max(text, table) + 14, 20),
    above: Math.max(ROW + high(heat) + 4, gate ? GATE : 0),
    below: Math.max((adjoint ? ROW : 0) + high(slope) + 4, gate ? GATE : 0),
  };
}

/** What stands above the wire of a group: how much it holds. */
export function groupName(model: Model, k: number): string {
  const { nodes } = model;
  const count = nodes.count[k].toLocaleString("en");
  return nodes.op[k] ? `${count} nodes` : `${nodes.label[k]} (${count} leaves)`;
}

function short(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE - 1)}…` : text;
}
