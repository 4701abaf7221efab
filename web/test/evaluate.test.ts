import { expect, test } from "vitest";
import { RULES } from "../src/elementwise";
import { LANES, WHOLE } from "../src/evaluate";
import { real, type Given, type Program, type Real, type Scene } from "../src/model";
import { refusal } from "../src/program";
import { Changed } from "../src/whatif";
import written from "./ops.json";

interface Shown {
  value: string[]; adjoint: string[]; status: string[]; flags: number[];
  parent: number[]; child: number[]; flow: boolean[]; local: string[]; contribution: string[];
}
interface Case { program: Program; point: Given; values: (Real[] | null)[]; adjoints: (Real[] | null)[]; shown: Shown }
// Written by tests/web/ops.py, which also tests that it is what Python computes today.
const cases = written as unknown as Record<string, Case[]>;
const OPS = [...Object.keys(RULES), ...Object.keys(LANES), ...Object.keys(WHOLE)];

function close(found: number, expected: number): boolean {
  if (!Number.isFinite(expected)) return Object.is(found, expected);
  return Math.abs(found - expected) <= 1e-12 * Math.max(Math.abs(expected), 1e-3);
}

/** The scene of a case, as far as it is needed to go to another point: here the same again. */
function sceneOf({ program, point, shown }: Case): Scene {
  const { parent, child, flow } = shown;
  const model = { nodes: { label: [] }, edges: { parent, child, flow }, outputs: program.outputs, arrays: { value: {}, adjoint: {} } };
  return { program, point, views: { node: { model } } } as unknown as Scene;
}

test("every op it knows is checked", () => {
  expect(Object.keys(cases).slice(0, OPS.length)).toEqual(OPS);
});

test.each(Object.keys(cases))("%s is what Python computes", (op) => {
  for (const one of cases[op]) {
    const { program, point, values, adjoints, shown } = one;
    const labels = program.nodes.map((_, v) => `node ${v}`);
    expect(refusal(program, point, labels)).toBe("");
    const found = new Changed(sceneOf(one), new Map());
    const where = `${op} ${JSON.stringify(program.nodes.at(-1))} at ${JSON.stringify(values)}`;
    const compare = (what: string, mine: Float64Array | undefined, theirs: Real[] | null, v: number) => {
      expect(mine?.length, `${what} of node ${v}: ${where}`).toBe(theirs?.length);
      theirs?.forEach((value, k) => {
        expect(close(mine![k], real(value)), `${what} ${k} of node ${v} is ${mine![k]}, in Python ${value}: ${where}`).toBe(true);
      });
    };
    values.forEach((value, v) => { if (value) compare("value", found.point.values[v].data, value, v); });
    adjoints.forEach((adjoint, v) => compare("adjoint", found.point.adjoints[v]?.data, adjoint, v));
    const { nodes, edges } = found.view.model;
    for (const column of ["value", "adjoint", "status", "flags"] as const) expect(nodes[column], `${column}: ${where}`).toEqual(shown[column]);
    for (const column of ["local", "contribution", "flow"] as const) expect(edges[column], `${column}: ${where}`).toEqual(shown[column]);
  }
});

test("what it does not know it refuses, and names op and node", () => {
  const leaf = { dtype: "<f8", shape: [3], leaf: "x" };
  const graph = (...nodes: object[]) => ({ nodes: [leaf, ...nodes], outputs: [1] }) as Program;
  const node = { dtype: "<f8", shape: [3], args: [{ node: 0 }], attrs: {} };
  const asked = (program: Program | null, point: unknown = {}) => refusal(program, point, ["x", "s"]);
  expect(asked(null)).toMatch("not written out");
  expect(asked(graph(), null)).toMatch("too many entries");
  expect(asked(graph({ ...node, op: "sinc" }))).toMatch("does not compute sinc, by which s is made");
  expect(asked(graph({ ...node, op: "sum", attrs: { where: { array: [] } } }))).toMatch("sum as s needs it");
  expect(asked(graph({ ...node, op: "sin", dtype: "<f4" }))).toMatch("s holds numbers of type <f4");
  expect(asked(graph({ ...node, op: "add", args: [{ node: 0 }, { array: ["<c16", [], ""] }] }))).toMatch("add");
  expect(asked(graph({ ...node, op: "sin" }))).toBe("");
});
