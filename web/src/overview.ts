// All of a large drawing in a corner, with a frame around what is seen of it.

import type { Camera } from "./camera";
import { FLAG, type View } from "./model";
import type { Colours } from "./theme";

const WIDE = 200;
const HIGH = 90;
const MARGIN = 12;
const MOST = 15_000; // nodes: there are no more pixels

export interface Corner { x: number; y: number; width: number; height: number; scale: number }

/** Where the overview stands; null where all, or nearly all, is seen anyway. */
export function cornerOf(view: View, camera: Camera): Corner | null {
  const { width, height } = view.place;
  const part = (camera.width * camera.height) / (camera.scale * camera.scale) / (width * height);
  const inside = camera.width / camera.scale >= width && camera.height / camera.scale >= height;
  if (inside || part > 4 || camera.width < 500) return null;
  const scale = Math.min(WIDE / width, HIGH / height);
  const wide = width * scale;
  const high = height * scale;
  return { x: camera.width - wide - MARGIN, y: camera.height - high - MARGIN, width: wide, height: high, scale };
}

export function drawOverview(context: CanvasRenderingContext2D, view: View, camera: Camera, ratio: number, colours: Colours): void {
  const corner = cornerOf(view, camera);
  if (!corner) return;
  context.setTransform(ratio, 0, 0, ratio, corner.x * ratio, corner.y * ratio);
  context.fillStyle = colours.ground;
  context.globalAlpha = 0.9;
  context.fillRect(-6, -6, corner.width + 12, corner.height + 12);
  context.globalAlpha = 1;
  context.strokeStyle = colours.wire;
  context.lineWidth = 1;
  context.strokeRect(-6, -6, corner.width + 12, corner.height + 12);
  context.drawImage(pictureOf(view, corner, ratio, colours), 0, 0, corner.width, corner.height);
  const edge = (at: number, most: number) => Math.min(Math.max(at * corner.scale, -6), most + 6);
  const left = edge(camera.x, corner.width);
  const top = edge(camera.y, corner.height);
  const right = edge(camera.x + camera.width / camera.scale, corner.width);
  const bottom = edge(camera.y + camera.height / camera.scale, corner.height);
  context.strokeStyle = colours.select;
  context.lineWidth = 2;
  context.strokeRect(left, top, right - left, bottom - top);
}

interface Kept { key: string; canvas: OffscreenCanvas }
const kept = new WeakMap<View, Kept>();

/** All nodes, drawn once; of very many only some, but everyone that is not finite. */
function pictureOf(view: View, corner: Corner, ratio: number, colours: Colours): OffscreenCanvas {
  const key = `${corner.scale} ${ratio} ${colours.wire}`;
  const last = kept.get(view);
  if (last?.key === key) return last.canvas;
  const canvas = new OffscreenCanvas(Math.ceil(corner.width * ratio) || 1, Math.ceil(corner.height * ratio) || 1);
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const { place, model } = view;
  const size = Math.max(1.2, 8 * corner.scale);
  const every = Math.ceil(place.x.length / MOST);
  for (let v = 0; v < place.x.length; v++) {
    const alarm = model.nodes.flags[v] & (FLAG.value | FLAG.adjoint);
    if (v % every && !alarm) continue;
    context.fillStyle = alarm ? colours.wrong : colours.wire;
    context.fillRect(place.x[v] * corner.scale, place.y[v] * corner.scale - size / 2, Math.max(place.wide[v] * corner.scale * 0.8, size), size);
  }
  kept.set(view, { key, canvas });
  return canvas;
}
