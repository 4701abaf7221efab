// The course of a wire: level through columns, a curve in the gaps between them (see layout.py).

import type { Place, View } from "./model";
import type { Pen } from "./pen";

export type Point = [x: number, y: number];
const BENDS = 14; // pieces of a curve along which something moves

/** The corners of a wire: level to the second, a curve to the third, level to the fourth, … */
export function corners(view: View, e: number): Point[] {
  const { place, model, folds } = view;
  if (folds) return folds.route(e);
  const tail = model.edges.parent[e];
  const head = model.edges.child[e];
  const points = course(place, place.x[tail] + place.wide[tail], tail, head, place.entry[e]);
  points.push([place.x[head] + place.lead[head] + (place.gate[head] ? 2 : 0), points.at(-1)![1]]);
  return points;
}

type Course = Pick<Place, "x" | "y" | "layer" | "start" | "end" | "first" | "places">;

/** From `out`, where a wire leaves one box, to the left of another, where it ends `entry` below the middle. */
export function course(place: Course, out: number, tail: number, head: number, entry: number): Point[] {
  const points: Point[] = [[out, place.y[tail]]];
  let column = place.layer[tail];
  let y = place.y[tail];
  let at = place.first[tail];
  while (at >= 0 && column + 1 < place.layer[head]) {
    points.push([place.end[column], y]);
    column += 1;
    y = place.places[at++];
    points.push([place.start[column], y]);
  }
  points.push([place.end[column], y], [place.x[head], place.y[head] + entry]);
  return points;
}

export function trace(context: Pen, points: Point[]): void {
  let [x, y] = points[0];
  context.moveTo(x, y);
  points.slice(1).forEach(([to, height], k) => {
    const middle = (x + to) / 2;
    if (k % 2 === 0 || Math.abs(height - y) < 0.05) context.lineTo(to, height);
    else context.bezierCurveTo(middle, y, middle, height, to, height);
    [x, y] = [to, height];
  });
}

/** A wire as short straight pieces. */
export function flattened(points: Point[]): Point[] {
  const found: Point[] = [points[0]];
  let [x, y] = points[0];
  points.slice(1).forEach(([to, height], k) => {
    if (k % 2 === 1 && Math.abs(height - y) >= 0.05) {
      for (let i = 1; i < BENDS; i++) {
        const t = i / BENDS;
        found.push([x + (to - x) * (1.5 * t - 1.5 * t * t + t * t * t), y + (height - y) * t * t * (3 - 2 * t)]);
      }
    }
    found.push([to, height]);
    [x, y] = [to, height];
  });
  return found;
}

/** The point that lies this part, 0 … 1, of the way along. */
export function along(points: Point[], part: number): Point {
  const lengths = points.slice(1).map(([x, y], k) => Math.hypot(x - points[k][0], y - points[k][1]));
  let left = part * lengths.reduce((sum, length) => sum + length, 0);
  for (let k = 0; k < lengths.length; k++) {
    if (left <= lengths[k] && lengths[k] > 0) {
      const t = left / lengths[k];
      return [points[k][0] + t * (points[k + 1][0] - points[k][0]), points[k][1] + t * (points[k + 1][1] - points[k][1])];
    }
    left -= lengths[k];
  }
  return points[points.length - 1];
}
