// Where the small texts beside adjoints find room: what an adjoint is just now the sum of.

import type { Camera } from "./camera";
import type { View } from "./model";
import { flattened, type Point } from "./wires";

export const HIGH = 16;
export const LETTER = 7.224; // its width, in the typeface of the picture

export interface Spot { x: number; y: number; width: number }

/** A spot where such a text hides no node, no wire and no other: beside the adjoint, else above or below. */
export function freeSpot(view: View, routes: Point[][], camera: Camera, own: number, adjoint: string, width: number, taken: Spot[]): Spot {
  const { place } = view;
  const x = place.x[own] + place.lead[own] + place.gate[own];
  const y = place.y[own];
  const beside = { x: x + 10 + LETTER * (1.4 + adjoint.length), y: y + 3, width };
  const above = Array.from({ length: 4 }, (_, k) => ({ x, y: y - place.above[own] - 17 - 6 * k, width }));
  const below = Array.from({ length: 12 }, (_, k) => ({ x, y: y + 20 + 6 * k, width }));
  let otherwise: Spot | undefined; // it hides a wire at the most
  const end = camera.x + camera.width / camera.scale - width - 4;
  for (const spot of [beside, above[0], ...below, ...above]) {
    spot.x = Math.max(Math.min(spot.x, end), camera.x + 4);
    if (!camera.holds(spot.x, spot.y, spot.x + width, spot.y + HIGH) || taken.some((other) => meet(spot, other)) || hidesNode(view, own, spot)) continue;
    if (!routes.some((route) => passes(route, spot))) return spot;
    otherwise ??= spot;
  }
  return otherwise ?? below[0];
}

function meet(a: Spot, b: Spot): boolean {
  return a.x < b.x + b.width && a.x + a.width > b.x && Math.abs(a.y - b.y) < HIGH + 1;
}

function hidesNode(view: View, own: number, spot: Spot): boolean {
  const { x, y, lead, wide, above, below } = view.place;
  return x.some((left, v) => v !== own && left + lead[v] - 4 < spot.x + spot.width && left + wide[v] > spot.x
    && y[v] - above[v] < spot.y + HIGH && y[v] + below[v] > spot.y);
}

/** Whether a wire runs through a spot: its pieces are level, or short. */
function passes(route: Point[], spot: Spot): boolean {
  if (route[0][0] > spot.x + spot.width || route[route.length - 1][0] < spot.x) return false;
  const pieces = flattened(route);
  return pieces.some(([x, y], k) => {
    const [before, height] = pieces[Math.max(k - 1, 0)];
    return before < spot.x + spot.width && x > spot.x && Math.min(y, height) < spot.y + HIGH && Math.max(y, height) > spot.y;
  });
}
