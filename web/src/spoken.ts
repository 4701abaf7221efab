// The step as it is read aloud to those who do not see the page: its sentence, and nothing else.

import type { Piece } from "./model";
import type { State } from "./state";
import { ORDERS, sentence } from "./timeline";
import { SORTING } from "./why";

export function spoken(state: State): string {
  const { known, comparing } = state;
  if (!known || known.phase === "start") return "";
  if (comparing) return state.orders.map((order) => `${ORDERS[order]}: ${aloud(state.inOrder(order).known?.lines ?? [])}`).join(". ");
  if (known.phase === "sort") return SORTING[known.kind](state.nodes.model.nodes.label[known.node]);
  return aloud(known.lines);
}

function aloud(lines: Piece[][]): string {
  return lines.map((line) => sentence(line).said.map(([text]) => text).join("")).join("; ");
}
