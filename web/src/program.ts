// A graph as it is computed with: the arguments and attrs of each node, read from graph.to_json().

import { RULES } from "./elementwise";
import { LANES, WHOLE } from "./evaluate";
import type { Program } from "./model";
import { number, type Nd } from "./nd";
import type { Attrs } from "./selecting";

export interface Arg { node: number; constant: Nd | null }
export interface Instruction { op: string; args: Arg[]; attrs: Attrs; kind: "f" | "i" | "b"; shape: number[] }

const KINDS: Record<string, "f" | "i" | "b"> = { "<f8": "f", "<i8": "i", "|b1": "b" };
const MOST_BYTES = 8;

/** Why a program cannot be evaluated here, naming the first node that cannot; "" where it can. */
export function refusal(program: Program | null, point: unknown, labels: string[]): string {
  if (!program) return "this graph is not written out in the page";
  if (!point) return "its arrays have too many entries to be computed in the page";
  for (const [v, node] of program.nodes.entries()) {
    const kind = KINDS[node.dtype];
    if (!kind) return `${labels[v]} holds ${node.dtype === "|O" ? "several results" : `numbers of type ${node.dtype}`}; the page computes in float64`;
    if (node.op === undefined) continue;
    if (node.op !== "constant" && !(node.op in RULES || node.op in LANES || node.op in WHOLE)) return `the page does not compute ${node.op}, by which ${labels[v]} is made`;
    if (kind === "i" || !fits(program, v)) return `the page does not compute ${node.op} as ${labels[v]} needs it`;
  }
  return "";
}

/** Whether the settings of a node are among those that are computed. */
function fits(program: Program, v: number): boolean {
  const { op, args = [], attrs = {}, dtype } = program.nodes[v];
  const settings = attrs as Record<string, unknown>;
  const kinds = args.map((arg) => (isNode(arg) ? KINDS[program.nodes[arg.node].dtype] : kindOf(arg)));
  if (kinds.some((kind) => kind === undefined)) return false;
  if (op === "gather") return kinds.slice(1).every((kind) => kind === "i"); // a mask reads now more, now less
  if (op! in LANES) return kinds.every((kind) => kind === KINDS[dtype]);
  if (op! in WHOLE) return kinds.every((kind) => kind === "f") && (settings.where ?? true) === true && (settings.dtype ?? null) === null;
  return op !== "astype" || KINDS[dtype] === "f";
}

/** "f", "i" or "b" of a constant; undefined for one that is not computed with. */
function kindOf(given: unknown): string | undefined {
  if (typeof given === "boolean") return "b";
  if (typeof given === "number") return "f";
  if (typeof given !== "object" || given === null) return undefined;
  if ("float" in given) return "f";
  const held = ("array" in given ? given.array : "scalar" in given ? given.scalar : null) as [string] | null;
  return held ? KINDS[held[0]] : undefined;
}

export const isNode = (arg: unknown): arg is { node: number } => typeof arg === "object" && arg !== null && "node" in arg;

export function instructions(program: Program): Instruction[] {
  return program.nodes.map((node) => ({
    op: node.op ?? "",
    args: (node.args ?? []).map((arg) => (isNode(arg) ? { node: arg.node, constant: null } : { node: -1, constant: constantOf(arg) })),
    attrs: Object.fromEntries(Object.entries(node.attrs ?? {}).map(([name, value]) => [name, decoded(value)])),
    kind: KINDS[node.dtype],
    shape: node.shape,
  }));
}

/** A constant as an array. */
export function constantOf(given: unknown): Nd {
  const value = decoded(given);
  return typeof value === "object" ? (value as Nd) : number(Number(value));
}

/** A value as `encode` of core/serial.py writes it. */
function decoded(given: any): any {
  if (typeof given !== "object" || given === null) return given;
  if ("float" in given) return Number(given.float.replace("inf", "Infinity"));
  if ("tuple" in given || "list" in given) return (given.tuple ?? given.list).map(decoded);
  if ("slice" in given || "slot" in given || "ellipsis" in given) return given;
  if ("array" in given || "scalar" in given) return array(...(given.array ?? given.scalar) as [string, number[], string]);
  return given;
}

function array(dtype: string, shape: number[], text: string): Nd {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const kind = KINDS[dtype];
  const width = kind === "b" ? 1 : MOST_BYTES;
  const data = Float64Array.from({ length: bytes.length / width }, (_, k) => {
    if (kind === "b") return bytes[k];
    return kind === "i" ? Number(view.getBigInt64(k * width, true)) : view.getFloat64(k * width, true);
  });
  return { shape, data };
}
