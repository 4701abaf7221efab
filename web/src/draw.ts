// The picture: wires, gates, values above the line and adjoints below it, and what moves just now.

import type { Camera } from "./camera";
import { groupName, LONGEST_GROUP } from "./boxes";
import { freeSpot, HIGH, LETTER, type Spot } from "./chips";
import { Distant } from "./distant";
import { boxExtents, routeExtents, sees, wireExtents, type Extents } from "./extents";
import { drawHeat, heatOf, inWords, norm, type Heat } from "./heat";
import { FLAG, type View } from "./model";
import { brief, general, pretty } from "./numbers";
import { drawPanels } from "./panels";
import type { Pen } from "./pen";
import type { Colours } from "./theme";
import { along, corners, flattened, trace, type Point } from "./wires";

const GATE = 13;
const READABLE = 0.3; // of the scale, below which there is no text
const MANY = 1500; // wires
const CROWD = 700; // boxes in sight, beyond which they are too small to be read
const LEGIBLE = 0.75; // of the scale, from which on all are drawn
export const FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

export interface Badge { text: string; strong: boolean; tone?: "value" | "adjoint" | "wrong" }

/** What is drawn of a view at one moment. */
export interface Frame {
  value: (node: number) => boolean;
  adjoint: (node: number) => string; // "" where none is known yet
  whole: (node: number) => boolean; // whether that adjoint is all of it
  wrong: (node: number) => boolean;
  now: Set<number>; // the nodes whose step it is
  live: Map<number, string>; // edges along which something moves, and what they say
  backward: boolean;
  part: number; // of the way that it has moved
  badges: Map<number, Badge>; // place in the order or on the stack
  selected: number;
  hovered: number;
  chosen: number; // the group that is selected
  bold: Map<number, number>; // edges of the paths shown, and their share
  found: Set<number> | null; // nodes that a search found
  shown: number; // of the wires and frames, 0 … 1, while boxes slide to new places
  slide: ((node: number) => Point) | null; // how far a box is from its place
}

export class Picture {
  private heats = new Map<string, Heat | null>();
  private routes = new Map<number, Point[]>();
  private distant: Distant | null = null;
  private readonly boxes: Extents;
  private readonly wiring: Extents; // of edges, or of the pieces of wire of a view of groups

  /** `again` asks for another frame after so many milliseconds; `name` is that of a group. */
  constructor(readonly view: View, private readonly again: (after: number) => void, private readonly name: (group: number) => string) {
    this.boxes = boxExtents(view);
    this.wiring = view.folds ? routeExtents(view.folds.segments.map((segment) => segment.route)) : wireExtents(view);
  }

  private route(e: number): Point[] {
    let found = this.routes.get(e);
    if (!found) this.routes.set(e, (found = corners(this.view, e)));
    return found;
  }

  /** Whether so much is in sight that nothing can be read. */
  private crowded(camera: Camera): boolean {
    if (this.wiring.length / 4 <= MANY || camera.scale >= LEGIBLE) return false;
    if (camera.scale < READABLE) return true;
    let seen = 0;
    for (let v = 0; v < this.view.place.x.length && seen <= CROWD; v++) if (sees(camera, this.boxes, v)) seen++;
    return seen > CROWD;
  }

  draw(context: Pen, camera: Camera, ratio: number, colours: Colours, frame: Frame): void {
    const { scale } = camera;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, camera.width, camera.height);
    context.setTransform(ratio * scale, 0, 0, ratio * scale, -camera.x * scale * ratio, -camera.y * scale * ratio);
    if (this.crowded(camera)) {
      this.distant ??= new Distant(this.view, this.again);
      if (context instanceof CanvasRenderingContext2D) this.distant.draw(context, camera, ratio, colours);
      else this.distant.paint(context, camera, colours);
      this.distant.mark(context, camera, colours, frame, (e) => this.route(e));
      return;
    }
    drawPanels(context, this.view, this.name, camera, colours, frame, scale >= READABLE);
    context.lineCap = "round";
    this.wires(context, camera, colours, frame);
    const { place } = this.view;
    for (let v = 0; v < place.x.length; v++) {
      if (!sees(camera, this.boxes, v)) continue;
      context.globalAlpha = this.faint(v, frame) ? 0.28 : 1;
      const [dx, dy] = frame.slide?.(v) ?? [0, 0];
      if (frame.slide) context.setTransform(ratio * scale, 0, 0, ratio * scale, (dx - camera.x) * scale * ratio, (dy - camera.y) * scale * ratio);
      this.node(context, v, colours, frame, scale >= READABLE);
      context.globalAlpha = 1;
    }
    if (scale >= READABLE) this.sums(context, camera, colours, frame);
  }

  /** The node at a point of the drawing, or -1. */
  at(x: number, y: number): number {
    const { place } = this.view;
    for (let v = place.x.length - 1; v >= 0; v--) {
      if (x >= place.x[v] - 6 && x <= place.x[v] + place.wide[v] + 6 && y >= place.y[v] - Math.max(place.above[v], 10) && y <= place.y[v] + Math.max(place.below[v], 10)) return v;
    }
    return -1;
  }

  /** The entry whose square of a table of values is at a point of the drawing, or -1. */
  entryAt(v: number, x: number, y: number): number {
    const { place, model } = this.view;
    const heat = this.heat("value", v);
    const data = model.arrays.value[v]?.data;
    if (!heat || !data || heat.levels.length !== data.length) return -1;
    const column = Math.floor((x - place.x[v] - place.lead[v] - place.gate[v] - 6) / heat.cell);
    const row = Math.floor((y - place.y[v] + 5) / heat.cell) + heat.rows;
    return column >= 0 && column < heat.columns && row >= 0 && row < heat.rows ? row * heat.columns + column : -1;
  }

  private faint(v: number, frame: Frame): boolean {
    if (frame.found) return !frame.found.has(v);
    if (!frame.bold.size) return false;
    const { into, from } = this.view;
    return ![...into[v], ...from[v]].some((e) => frame.bold.has(e));
  }

  // -- wires ----------------------------------------------------------------------------------

  private wires(context: Pen, camera: Camera, colours: Colours, frame: Frame): void {
    const { model, place, into, from } = this.view;
    const { child, flow } = model.edges;
    const near = frame.hovered >= 0 ? [...into[frame.hovered], ...from[frame.hovered]] : [];
    const strokes = [...new Set([...near, ...frame.bold.keys(), ...frame.live.keys()])]
      .map((e): [number, string, number] => [e, this.tint(e, colours, frame), this.weight(e, frame)]);
    for (const dashed of [false, true]) {
      context.beginPath();
      // With the wires, so that one line is drawn where they meet.
      if (!dashed) place.x.forEach((_, v) => { if (sees(camera, this.boxes, v)) this.stem(context, v); });
      this.plain(context, camera, dashed);
      context.setLineDash(dashed ? [3, 3] : []);
      context.strokeStyle = colours.wire;
      context.lineWidth = 1.4;
      context.globalAlpha = (frame.bold.size || frame.found ? 0.3 : 1) * frame.shown;
      context.stroke();
    }
    context.globalAlpha = 1;
    for (const [e, colour, width] of strokes) {
      context.setLineDash(flow[e] ? [] : [3, 3]);
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      trace(context, this.route(e));
      context.stroke();
    }
    context.setLineDash([]);
    if (frame.part < 1) this.moving(context, colours, frame);
    if (camera.scale >= READABLE) {
      for (let e = 0; e < child.length; e++) if (sees(camera, this.boxes, child[e])) this.local(context, e, colours, frame, place.x[child[e]]);
    }
  }

  /** The course of every wire in sight, of one kind. */
  private plain(context: Pen, camera: Camera, dashed: boolean): void {
    const { model, farthest, folds } = this.view;
    const flow = folds ? folds.segments.map((segment) => segment.flow) : model.edges.flow;
    for (let e = 0; e < flow.length; e++) {
      if (flow[e] === dashed || !sees(camera, this.wiring, e)) continue;
      const route = folds ? folds.segments[e].route : this.route(e);
      // The trunk is drawn with the wire that goes farthest.
      trace(context, folds || farthest.has(e) ? route : [route.at(-3)!, ...route.slice(-3)]);
    }
  }

  private inSight(camera: Camera): Point[][] {
    const { model, folds } = this.view;
    const all = folds?.segments ?? model.edges.parent;
    return [...all.keys()].filter((e) => sees(camera, this.wiring, e)).map((e) => (folds ? folds.segments[e].route : this.route(e)));
  }

  private tint(e: number, colours: Colours, frame: Frame): string {
    if (frame.live.has(e)) return frame.backward ? colours.adjoint : colours.value;
    return frame.bold.has(e) ? colours.adjoint : colours.text;
  }

  private weight(e: number, frame: Frame): number {
    const share = frame.bold.get(e);
    return share !== undefined ? 2 + 3.5 * Math.min(share, 1) : frame.live.has(e) ? 2.6 : 1.8;
  }

  /** Values move to the right and adjoints to the left; a square and a circle. */
  private moving(context: Pen, colours: Colours, frame: Frame): void {
    context.fillStyle = frame.backward ? colours.adjoint : colours.value;
    for (const e of frame.live.keys()) {
      const [x, y] = along(flattened(this.route(e)), frame.backward ? 1 - frame.part : frame.part);
      context.beginPath();
      if (frame.backward) context.arc(x, y, 5, 0, 7);
      else context.rect(x - 4.5, y - 4.5, 9, 9);
      context.fill();
    }
  }

  private local(context: Pen, e: number, colours: Colours, frame: Frame, x: number): void {
    const { model, place, into } = this.view;
    const text = localText(model.edges.local[e]);
    const head = model.edges.child[e];
    if (!text || !frame.value(head)) return;
    const entries = into[head].map((other) => place.entry[other]);
    const entry = place.entry[e];
    const thick = frame.bold.has(e) || frame.live.has(e) ? this.weight(e, frame) / 2 : 0; // of a wire that would cross it
    const side = entry === Math.min(...entries) ? -4 - thick : entry === Math.max(...entries) ? 10.5 + thick : 0;
    if (!side) return;
    context.font = `${frame.live.has(e) && frame.backward ? "600 " : ""}10px ${FONT}`;
    context.fillStyle = frame.live.has(e) && frame.backward ? colours.adjoint : colours.dim;
    context.textAlign = "left";
    context.fillText(pretty(text), x + 2, place.y[head] + entry + side);
  }

  /** What the adjoint of a node is just now the sum of: what was there, and upstream × local. */
  private sums(context: Pen, camera: Camera, colours: Colours, frame: Frame): void {
    if (!frame.backward || frame.part < 0.8) return;
    const { model } = this.view;
    context.font = `600 10px ${FONT}`;
    context.textAlign = "left";
    const taken: Spot[] = [];
    const routes = [...frame.live.values()].some(Boolean) ? this.inSight(camera) : [];
    for (const [e, said] of frame.live) {
      if (!said) continue;
      const tail = model.edges.parent[e];
      const text = pretty(said);
      const width = context.measureText(text).width + 10;
      const spot = freeSpot(this.view, routes, camera, tail, brief(frame.adjoint(tail)), width, taken);
      const { x, y } = spot;
      taken.push(spot);
      context.fillStyle = colours.ground;
      context.strokeStyle = colours.adjoint;
      context.lineWidth = 1.2;
      context.beginPath();
      context.roundRect(x, y, width, HIGH, HIGH / 2);
      context.fill();
      context.stroke();
      context.fillStyle = colours.adjoint;
      context.fillText(text, x + 5, y + 11.5);
    }
  }

  // -- nodes ----------------------------------------------------------------------------------

  private node(context: Pen, v: number, colours: Colours, frame: Frame, readable: boolean): void {
    const { model, place, from } = this.view;
    const { nodes } = model;
    const x = place.x[v] + place.lead[v];
    const y = place.y[v];
    const end = place.x[v] + place.wide[v];
    if (v === frame.selected || v === frame.hovered) this.halo(context, v, colours, v === frame.selected);
    const bold = from[v].filter((e) => frame.bold.has(e));
    if (bold.length) {
      context.strokeStyle = colours.adjoint;
      context.lineWidth = Math.max(...bold.map((e) => this.weight(e, frame)));
      context.beginPath();
      this.stem(context, v);
      context.stroke();
    }
    context.fillStyle = colours.wire;
    if (place.gate[v]) this.gate(context, v, x, y, colours, frame, readable);
    else context.fillRect(x, y - 4, 4, 8);
    context.fillStyle = colours.wire;
    context.beginPath();
    if (model.outputs.includes(v)) {
      context.moveTo(end, y - 5); context.lineTo(end + 9, y); context.lineTo(end, y + 5);
    } else if (from[v].length > 1) context.arc(place.end[place.layer[v]], y, 3.2, 0, 7); // where wires part
    context.fill();
    if (!readable) return;
    context.textAlign = "left";
    const left = x + place.gate[v] + 6;
    this.above(context, v, left, y, colours, frame);
    if (frame.adjoint(v)) this.below(context, v, left, y, colours, frame);
    const badge = frame.badges.get(v);
    if (badge && badge.tone && !nodes.op[v]) this.badge(context, badge, x - 12, y, colours); // below it stands its adjoint
    else if (badge) this.badge(context, badge, place.gate[v] ? x + place.gate[v] / 2 : x + 2, y + (nodes.op[v] ? GATE + 10 : 14), colours);
  }

  /** The line from a gate to where its wires begin. */
  private stem(context: Pen, v: number): void {
    const { x, y, lead, gate, wide } = this.view.place;
    context.moveTo(x[v] + lead[v] + (gate[v] || 2), y[v]); // from inside the mark of a leaf
    context.lineTo(x[v] + wide[v], y[v]);
  }

  private halo(context: Pen, v: number, colours: Colours, selected: boolean): void {
    const { place } = this.view;
    context.strokeStyle = colours.select;
    context.lineWidth = selected ? 2 : 1;
    context.beginPath();
    context.roundRect(place.x[v] + place.lead[v] - 6, place.y[v] - place.above[v] - 4, place.wide[v] - place.lead[v] + 6, place.above[v] + place.below[v] + 8, 7);
    context.stroke();
  }

  /** A round gate; one that routes is pointed, and a group of nodes has corners. */
  private gate(context: Pen, v: number, x: number, y: number, colours: Colours, frame: Frame, readable: boolean): void {
    const { nodes } = this.view.model;
    const width = this.view.place.gate[v];
    const now = frame.now.has(v);
    const alarm = nodes.flags[v] && (nodes.flags[v] === FLAG.value ? frame.value(v) : frame.adjoint(v));
    const lit = frame.backward ? colours.adjoint : colours.value;
    context.fillStyle = now ? lit : colours.gate;
    context.strokeStyle = alarm ? colours.wrong : now ? lit : colours.wire;
    context.lineWidth = alarm ? 2.6 : 1.3;
    if (nodes.op[v] === "loop") this.stack(context, x, y, width, colours);
    context.beginPath();
    if (nodes.gate[v] === "routes") {
      context.moveTo(x + 7, y - GATE); context.lineTo(x + width - 7, y - GATE); context.lineTo(x + width, y);
      context.lineTo(x + width - 7, y + GATE); context.lineTo(x + 7, y + GATE); context.lineTo(x, y);
      context.closePath();
    } else context.roundRect(x, y - GATE, width, 2 * GATE, nodes.count[v] === 1 ? GATE : 3);
    context.fill();
    context.stroke();
    if (!readable) return;
    context.fillStyle = now ? colours.ground : colours.text;
    context.font = `12px ${FONT}`;
    context.textAlign = "center";
    context.fillText(shortened(nodes.symbol[v], nodes.count[v] === 1 ? 16 : LONGEST_GROUP), x + width / 2, y + 4.2);
  }

  /** Behind a loop the turns that are not on top. */
  private stack(context: Pen, x: number, y: number, width: number, colours: Colours): void {
    const { fillStyle, strokeStyle } = context;
    Object.assign(context, { fillStyle: colours.gate, strokeStyle: colours.wire });
    for (const off of [5, 2.5]) {
      context.beginPath();
      context.roundRect(x + off, y - GATE - off, width, 2 * GATE, 3);
      context.fill();
      context.stroke();
    }
    Object.assign(context, { fillStyle, strokeStyle });
  }

  private above(context: Pen, v: number, left: number, y: number, colours: Colours, frame: Frame): void {
    const { nodes, arrays } = this.view.model;
    const shown = frame.value(v) && nodes.value[v] !== "";
    const heat = this.heat("value", v);
    let lift = 5;
    if (heat) {
      if (shown) drawHeat(context, heat, left, y - lift - heat.rows * heat.cell, "value", colours.value, colours.wrong);
      lift += heat.rows * heat.cell + 4;
    }
    const name = this.nameOf(v);
    const summary = arrays.value[v];
    const value = heat || !nodes.value[v] ? nodes.shape[v] : shown ? shortened(summary ? inWords(summary) : nodes.value[v], 26) : "";
    context.font = `600 12px ${FONT}`;
    context.fillStyle = colours.text;
    context.fillText(name, left, y - lift);
    context.font = `${frame.now.has(v) && !frame.backward && !heat ? "600 " : ""}12px ${FONT}`;
    context.fillStyle = heat || !shown ? colours.dim : nodes.flags[v] & FLAG.value ? colours.wrong : colours.value;
    context.fillText(pretty(value), left + (name ? (name.length + 1) * LETTER : 0), y - lift);
  }

  private nameOf(v: number): string {
    const { nodes } = this.view.model;
    if (nodes.count[v] > 1) return groupName(this.view.model, v);
    return nodes.named[v] ? shortened(nodes.label[v], 22) : "";
  }

  private below(context: Pen, v: number, left: number, y: number, colours: Colours, frame: Frame): void {
    const { nodes, arrays } = this.view.model;
    const whole = frame.whole(v);
    const heat = whole ? this.heat("adjoint", v) : null;
    const wrong = frame.wrong(v) || (whole && nodes.flags[v] & (FLAG.adjoint | FLAG.kink));
    const colour = wrong ? colours.wrong : whole || frame.now.has(v) ? colours.adjoint : colours.dim;
    let drop = 5;
    if (heat) {
      drawHeat(context, heat, left, y + drop, "adjoint", colours.adjoint, colours.wrong);
      drop += heat.rows * heat.cell + 4;
    }
    const summary = arrays.adjoint[v];
    const text = heat && summary ? `norm ${general(norm(summary), 3)}` : whole && summary ? inWords(summary) : brief(frame.adjoint(v));
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(left, y + drop + 5); context.lineTo(left + 6, y + drop + 1.5); context.lineTo(left + 6, y + drop + 8.5);
    context.fill();
    context.font = `italic 12px ${FONT}`;
    context.fillText(pretty(shortened(text, 30)), left + LETTER * 1.4, y + drop + 9);
  }

  private badge(context: Pen, badge: Badge, x: number, y: number, colours: Colours): void {
    context.font = `600 10px ${FONT}`;
    const width = Math.max(16, context.measureText(badge.text).width + 8);
    const tone = colours[badge.tone ?? "value"];
    context.fillStyle = badge.strong ? tone : colours.ground;
    context.strokeStyle = badge.strong ? tone : colours.dim;
    context.lineWidth = 1.2;
    context.beginPath();
    context.roundRect(x - width / 2, y - 8, width, 16, badge.strong ? 3 : 8);
    context.fill();
    context.stroke();
    context.fillStyle = badge.strong ? colours.ground : colours.dim;
    context.textAlign = "center";
    context.fillText(badge.text, x, y + 3.6);
    context.textAlign = "left";
  }

  private heat(which: "value" | "adjoint", v: number): Heat | null {
    const key = `${which}${v}`;
    if (!this.heats.has(key)) this.heats.set(key, heatOf(this.view.model.arrays[which][v]));
    return this.heats.get(key)!;
  }
}

/** A local derivative as it stands on a wire: a number in four digits; "" for a matrix. */
export function localText(local: string): string {
  const number = local === "" ? NaN : Number(local.replace("inf", "Infinity"));
  return local === "nan" || !Number.isNaN(number) ? `×${general(number, 4)}` : "";
}

function shortened(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}

