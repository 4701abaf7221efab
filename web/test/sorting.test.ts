import { expect, test } from "vitest";
import { barred } from "../src/compact";
import { depthFirst } from "../src/sorting";

test("depth first: what a node needs is placed before it, and met again it is only visited", () => {
  const { kind, node } = depthFirst([[], [0], [0, 1]], [2]);
  expect(kind.map((what, k) => `${what} ${node[k]}`)).toEqual([
    "push 2", "push 0", "backtrack 0", "placed 0", "push 1", "visited 0", "backtrack 1", "placed 1", "backtrack 2", "placed 2",
  ]);
});

test("a chain of a hundred thousand is no problem", () => {
  const parents = Array.from({ length: 100_000 }, (_, v) => (v ? [v - 1] : []));
  expect(depthFirst(parents, [99_999]).kind.length).toBe(300_000);
});

test("the name of an adjoint", () => {
  expect([barred("x"), barred("ab"), barred("p['W']")]).toEqual(["x̄", "a̅b̅", "adjoint(p['W'])"]);
});
