// Very many nodes from far away. What they look like is kept as pictures, one of all of it and one of what is near
// the reader's eyes; a frame only lays these down, and they are made anew, a little in each frame, once it is still.

import type { Camera } from "./camera";
import type { Frame } from "./draw";
import { put } from "./extents";
import { FLAG, type View } from "./model";
import type { Pen } from "./pen";
import type { Colours } from "./theme";
import { trace, type Point } from "./wires";

const SLICE = 8; // milliseconds of a frame that making pictures may take
const CHUNK = 500; // things drawn before the time is looked at
const ALL = 2400; // the most pixels on a side of the picture of all of it
const STILL = 120; // milliseconds without a move after which what is near is drawn sharp
const MARGIN = 0.35; // of the window on each side is drawn too
const GATE = 13;

/** A picture of a part of the drawing, in the making until `done`. */
class Sheet {
  readonly canvas: OffscreenCanvas;
  readonly context: OffscreenCanvasRenderingContext2D;
  edges = 0;
  nodes = 0;
  done = false;

  constructor(readonly x: number, readonly y: number, readonly wide: number, readonly high: number, readonly scale: number) {
    this.canvas = new OffscreenCanvas(Math.max(Math.ceil(wide * scale), 1), Math.max(Math.ceil(high * scale), 1));
    this.context = this.canvas.getContext("2d")!;
    this.context.setTransform(scale, 0, 0, scale, -x * scale, -y * scale);
  }

  sees(left: number, top: number, right: number, bottom: number): boolean {
    return right >= this.x && left <= this.x + this.wide && bottom >= this.y && top <= this.y + this.high;
  }

  covers(camera: Camera): boolean {
    const right = camera.x + camera.width / camera.scale;
    const bottom = camera.y + camera.height / camera.scale;
    return this.x <= camera.x && this.y <= camera.y && this.x + this.wide >= right && this.y + this.high >= bottom;
  }
}

type Part = Pick<Sheet, "edges" | "nodes" | "done" | "scale" | "sees"> & { context: Pen };

export class Distant {
  private all: Sheet | null = null;
  private near: Sheet | null = null;
  private coming: Sheet | null = null;
  private palette = "";
  private seen = "";
  private moved = 0;
  private readonly ends: Float32Array; // x, y of where each wire leaves and where it ends

  /** `again` asks for another frame. */
  constructor(private readonly view: View, private readonly again: (after: number) => void) {
    const { model, place, farthest, folds } = view;
    const { parent, child } = model.edges;
    this.ends = new Float32Array(4 * (folds?.segments ?? parent).length);
    folds?.segments.forEach(({ route }, k) => put(this.ends, k, ...route[0], ...route.at(-1)!));
    if (folds) return;
    for (let e = 0; e < parent.length; e++) {
      const tail = parent[e];
      const head = child[e];
      const span = place.layer[head] - place.layer[tail];
      const trunk = !farthest.has(e) && span > 1 && place.first[tail] >= 0;
      // One that leaves a trunk on the way is drawn from there.
      const x = trunk ? place.end[place.layer[head] - 1] : place.x[tail] + place.wide[tail];
      const y = trunk ? place.places[place.first[tail] + span - 2] : place.y[tail];
      put(this.ends, e, x, y, place.x[head], place.y[head] + place.entry[e]);
    }
  }

  /** Lay down what there is; the context is set to the drawing's own units. */
  draw(context: CanvasRenderingContext2D, camera: Camera, ratio: number, colours: Colours): void {
    const palette = Object.values(colours).join();
    if (palette !== this.palette) this.all = this.near = this.coming = null;
    this.palette = palette;
    const now = performance.now();
    const seen = `${camera.x} ${camera.y} ${camera.scale} ${camera.width} ${camera.height}`;
    if (seen !== this.seen) this.moved = now;
    this.seen = seen;
    this.make(camera, ratio, colours, now);
    context.imageSmoothingEnabled = true;
    for (const sheet of [this.all, this.near]) {
      if (sheet && sheet.sees(camera.x, camera.y, camera.x + camera.width / camera.scale, camera.y + camera.height / camera.scale)) this.lay(context, sheet, sheet === this.near, colours);
    }
  }

  /** All that is in sight, at once, with a pen that cannot lay down pictures. */
  paint(context: Pen, camera: Camera, colours: Colours): void {
    const sees: Part["sees"] = (...box) => camera.sees(...box);
    this.fill({ context, sees, scale: camera.scale, edges: 0, nodes: 0, done: false }, colours, Infinity);
  }

  /** On it, what the reader has marked and where the step is. */
  mark(context: Pen, camera: Camera, colours: Colours, frame: Frame, route: (edge: number) => Point[]): void {
    const { place } = this.view;
    const size = Math.max(4 * GATE, 5 / camera.scale);
    const block = (v: number, colour: string) => {
      if (v < 0 || !camera.sees(place.x[v], place.y[v] - size, place.x[v] + place.wide[v], place.y[v] + size)) return;
      context.fillStyle = colour;
      context.fillRect(place.x[v] + place.lead[v], place.y[v] - size / 2, Math.max(2 * place.gate[v], size), size);
    };
    context.strokeStyle = colours.adjoint;
    context.lineWidth = 2 / camera.scale;
    for (const e of frame.bold.keys()) {
      context.beginPath();
      trace(context, route(e));
      context.stroke();
    }
    for (const v of new Set([frame.selected, frame.hovered, ...(frame.found ?? [])])) block(v, colours.select);
    for (const v of frame.now) block(v, frame.backward ? colours.adjoint : colours.value);
  }

  private lay(context: CanvasRenderingContext2D, sheet: Sheet, over: boolean, colours: Colours): void {
    const wide = sheet.canvas.width / sheet.scale;
    const high = sheet.canvas.height / sheet.scale;
    if (over) { // not both: what is blurred would shine through
      context.fillStyle = colours.ground;
      context.fillRect(sheet.x, sheet.y, wide, high);
    }
    context.drawImage(sheet.canvas, sheet.x, sheet.y, wide, high);
  }

  private make(camera: Camera, ratio: number, colours: Colours, now: number): void {
    const { width, height } = this.view.place;
    this.all ??= new Sheet(-20, -20, width + 40, height + 40, Math.min(ALL / (width + 40), ALL / (height + 40), ratio));
    const until = now + SLICE;
    if (!this.all.done) {
      this.fill(this.all, colours, until);
      this.again(0);
      return;
    }
    const sharp = camera.scale * ratio;
    const fits = (sheet: Sheet | null) => sheet !== null && Math.abs(sheet.scale / sharp - 1) < 0.01 && sheet.covers(camera);
    if (fits(this.near) || sharp <= this.all.scale) return;
    if (!this.coming || !fits(this.coming)) {
      this.coming = null;
      if (now - this.moved < STILL) {
        this.again(STILL);
        return;
      }
      const [wide, high] = [camera.width / camera.scale, camera.height / camera.scale];
      this.coming = new Sheet(camera.x - MARGIN * wide, camera.y - MARGIN * high, (1 + 2 * MARGIN) * wide, (1 + 2 * MARGIN) * high, sharp);
    }
    this.fill(this.coming, colours, until);
    if (this.coming.done) [this.near, this.coming] = [this.coming, null];
    this.again(0);
  }

  /** Draw some more of a picture: the wires, then the nodes. */
  private fill(sheet: Part, colours: Colours, until: number): void {
    const { ends } = this;
    const count = ends.length / 4;
    const { context } = sheet;
    context.lineWidth = 0.7 / Math.min(sheet.scale, 1);
    context.strokeStyle = colours.wire;
    while (sheet.edges < count) {
      context.globalAlpha = 0.45;
      context.beginPath();
      let drawn = 0;
      for (; sheet.edges < count && drawn < CHUNK; sheet.edges++) {
        const at = 4 * sheet.edges;
        const [x, y, to, end] = [ends[at], ends[at + 1], ends[at + 2], ends[at + 3]];
        if (!sheet.sees(x, Math.min(y, end), to, Math.max(y, end))) continue;
        context.moveTo(x, y);
        context.lineTo(to, end);
        drawn++;
      }
      context.stroke();
      if (performance.now() > until) return;
    }
    context.globalAlpha = 1;
    const { place, model } = this.view;
    const size = Math.max(2 * GATE, 1.6 / sheet.scale);
    while (sheet.nodes < place.x.length) {
      for (let drawn = 0; sheet.nodes < place.x.length && drawn < CHUNK; sheet.nodes++) {
        const v = sheet.nodes;
        if (!sheet.sees(place.x[v], place.y[v] - size, place.x[v] + place.wide[v], place.y[v] + size)) continue;
        const alarm = model.nodes.flags[v] & (FLAG.value | FLAG.adjoint);
        context.fillStyle = alarm ? colours.wrong : colours.dim;
        const grown = alarm ? 2 : 1;
        context.fillRect(place.x[v] + place.lead[v], place.y[v] - (grown * size) / 2, Math.max(place.gate[v], size / 2) * grown, grown * size);
        drawn++;
      }
      if (performance.now() > until) return;
    }
    sheet.done = true;
  }
}
