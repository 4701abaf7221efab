// The data of a page, as src/chainrule/view/scene.py writes it, with its columns spread out.

import { unfolded, type Compact } from "./compact";
import type { Panel, Segment } from "./folded";
import { Tree } from "./tree";
import type { Point } from "./wires";

export type Real = number | string | null; // "nan", "inf" and "-inf" are words
export type Piece = [text: string, style: string];

export interface Nodes {
  label: string[]; named: boolean[]; op: string[]; symbol: string[]; gate: string[]; shape: string[];
  dtype: string[]; call: string[]; line: number[]; count: number[]; value: string[]; number: Real[];
  adjoint: string[]; slope: Real[]; status: string[]; flags: number[];
}
export interface Edges {
  parent: number[]; child: number[]; slots: number[][]; local: string[]; contribution: string[];
  flow: boolean[]; count: number[];
}
export interface Summary {
  shape: number[]; data?: Real[]; low?: Real; high?: Real; mean?: Real; std?: Real; norm?: Real;
  zeros?: number; nan?: number; inf?: number; histogram?: number[];
  heat?: { rows: number; columns: number; data: (number | null)[] };
}
export interface Model {
  name: string; stage: "structure" | "forward" | "backward"; nodes: Nodes; edges: Edges;
  leaves: number[]; outputs: number[];
  lines: { file: string[]; number: number[]; text: string[]; function: string[] };
  arrays: { value: Record<string, Summary>; adjoint: Record<string, Summary> };
}
export interface Place {
  x: number[]; y: number[]; layer: number[]; start: number[]; end: number[]; first: number[];
  places: number[]; entry: number[]; width: number; height: number; lead: number[]; gate: number[];
  wide: number[]; above: number[]; below: number[];
}
/**
 * A model with its places, the edges into and out of each box, per node the box it is part of (null: each is one),
 * and per box the node that it is, or -1.
 */
export interface View {
  model: Model; place: Place; into: number[][]; from: number[][]; group: number[] | null;
  alone: number[]; farthest: Set<number>; folds?: Folds;
}
/** Of a view of groups: the thing that each box is (see `Tree`), all things with frames among them, the frames. */
export interface Folds {
  items: number[]; walk: number[]; panels: Panel[]; segments: Segment[];
  route: (edge: number) => Point[];
  edge: (edge: number) => number; // the wire that an edge between nodes is part of, or -1
}
export interface Adds { parent: number[]; contribution: string[]; after: string[]; edge?: number[] }
export interface Steps {
  kind: number[]; node: number[]; why: string[]; wrong: string[]; lines: Piece[][][];
  adds: (Adds | null)[];
}
export interface Sort { kind: string[]; node: number[] }
/** A recursion with too many visits to be written out: how many edges it goes along, and its first steps. */
export interface Refused { refused: string; visits?: string; begins?: Steps }
export interface Timeline { sort: Record<string, Sort>; orders: Record<string, Steps | Refused> }
export interface Path { nodes: number[]; factors: string[]; product: string; share: Real; covered: Real }
export interface Paths { count: string; exact: boolean; total: string; rest: string; paths: Path[] }
export interface Program {
  nodes: { leaf?: string; op?: string; args?: unknown[]; attrs?: object; dtype: string; shape: number[] }[];
  outputs: number[];
}
/** The values of the leaves, by their index, and the seeds of the outputs, as the program writes constants. */
export interface Given { leaves: Record<string, unknown>; seeds: unknown[] }
export interface Listing { file: string; first: number; text: string[] }
export interface Scene {
  views: { node: View }; tree: Tree; timeline: Timeline | { refused: string } | null;
  paths: Record<string, Paths> | null; program: Program | null; point: Given | null; source: Listing[]; formula: string;
  loops: Record<string, Loop>;
}
/** A loop: the iterations that are written out, each a scene that is still to be spread out. */
export interface Loop {
  count: number; kept: number[]; scenes: unknown[]; source: Listing[];
  sizes: { value: (number | null)[] | null; adjoint: (number | null)[] | null };
}

export const FLAG = { value: 1, adjoint: 2, kink: 4 };

/** The data that stands in the page. */
export function read(text: string): Scene {
  return sceneOf(JSON.parse(text));
}

export function sceneOf(raw: any): Scene {
  const node = view(raw);
  const compact: Compact | undefined = raw.timeline?.compact;
  const timeline = compact ? unfolded(node, compact) : raw.timeline;
  const { paths, program, point = null, source = [], formula = "", loops = {} } = raw;
  return { views: { node }, tree: new Tree(columns(raw.groups)), timeline, paths, program, point, source, formula, loops };
}

function view(raw: any): View {
  const model: Model = { ...raw.model, nodes: columns(raw.model.nodes), edges: columns(raw.model.edges), lines: columns(raw.model.lines) };
  const { nodes, edges } = model;
  nodes.count ??= nodes.label.map(() => 1); // a large graph does not say so
  edges.count ??= edges.parent.map(() => 1);
  nodes.number ??= nodes.label.map(() => null);
  nodes.slope ??= nodes.label.map(() => null);
  const into: number[][] = model.nodes.label.map(() => []);
  const from: number[][] = model.nodes.label.map(() => []);
  model.edges.parent.forEach((parent, e) => {
    from[parent].push(e);
    into[model.edges.child[e]].push(e);
  });
  const alone = model.nodes.label.map((_, v) => v);
  return { model, place: raw.place, into, from, group: null, alone, farthest: farthest(model, raw.place) };
}

/** Of the wires that leave a node, those that go farthest: the others branch off from them. */
function farthest(model: Model, place: Place): Set<number> {
  const best = new Map<number, number>();
  model.edges.parent.forEach((parent, e) => {
    const key = 2 * parent + Number(model.edges.flow[e]);
    const known = best.get(key);
    const layer = (edge: number) => place.layer[model.edges.child[edge]];
    if (known === undefined || layer(e) > layer(known)) best.set(key, e);
  });
  return new Set(best.values());
}

function columns<T>(raw: Record<string, any>): T {
  return Object.fromEntries(Object.entries(raw).map(([name, column]) => [name, spread(column)])) as T;
}

/** {"of": [strings], "at": [index of each]} as the list it stands for. */
export function spread(column: any): any[] {
  return Array.isArray(column) ? column : column.at.map((k: number) => column.of[k]);
}

export function real(value: Real | boolean): number {
  return value === null ? NaN : typeof value === "string" ? Number(value.replace("inf", "Infinity")) : Number(value);
}
