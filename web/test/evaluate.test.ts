import { expect, test } from "vitest";
import { evaluate, refusal, RULES } from "../src/evaluate";
import { real, type Program, type Real } from "../src/model";
import written from "./ops.json";

interface Case { program: Program; at: number[]; values: Real[]; adjoints: Real[] }
// Written by tests/web/ops.py, which also tests that it is what Python computes today.
const cases = written as unknown as Record<string, Case[]>;

function close(found: number, expected: number): boolean {
  if (!Number.isFinite(expected)) return Object.is(found, expected);
  return Math.abs(found - expected) <= 1e-12 * Math.max(Math.abs(expected), 1e-3);
}

test("every op it knows is checked", () => {
  expect(Object.keys(cases).filter((op) => op !== "graph").sort()).toEqual(Object.keys(RULES).sort());
});

test.each(Object.keys(cases))("%s is what Python computes", (op) => {
  for (const { program, at, values, adjoints } of cases[op]) {
    expect(refusal(program)).toBe("");
    const point = evaluate(program, new Map(at.map((value, v) => [v, value])), new Map([[program.outputs[0], 1]]));
    values.forEach((value, v) => {
      const said = `${op} at ${at}: node ${v} is ${point.values[v]}, in Python ${value}`;
      expect(close(point.values[v], real(value)), said).toBe(true);
    });
    adjoints.forEach((adjoint, v) => {
      const found = point.adjoints[v];
      const said = `${op} at ${at}: adjoint of ${v} is ${found}, in Python ${adjoint}`;
      // No gradient at all is zero in Python, too.
      expect(close(found ?? 0, adjoint === null ? 0 : real(adjoint)), said).toBe(true);
    });
  }
});

test("what it does not know it refuses, and says why", () => {
  const node = { dtype: "<f8", shape: [] };
  expect(refusal(null)).toMatch("not written out");
  expect(refusal({ nodes: [{ ...node, leaf: "x" }, { ...node, op: "sinc", args: [{ node: 0 }], attrs: {} }], outputs: [1] })).toMatch("sinc");
  expect(refusal({ nodes: [{ ...node, shape: [3], leaf: "x" }], outputs: [0] })).toMatch("arrays");
  expect(refusal({ nodes: [{ ...node, leaf: "x" }, { ...node, op: "add", args: [{ node: 0 }, { array: [] }], attrs: {} }], outputs: [1] })).toMatch("add");
});
