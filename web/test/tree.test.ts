import { expect, test } from "vitest";
import { Tree } from "../src/tree";
import { small } from "./small";

test("things stand in the order of the recording, groups among them", () => {
  const tree = small();
  expect(tree.items).toEqual([[0, ~1, 5], [1, 2, ~2], [3, 4]]);
  expect([...tree.count]).toEqual([6, 4, 2]);
  expect(tree.members(1)).toEqual([1, 2, 3, 4]);
  expect(tree.sample(1)).toBe(4);
});

test("a node is seen as the outermost closed group around it", () => {
  const tree = small();
  tree.open = new Set([0]);
  expect([0, 1, 3, 5].map((v) => tree.seen(v))).toEqual([0, ~1, ~1, 5]);
  tree.toggle(1);
  expect([1, 3].map((v) => tree.seen(v))).toEqual([1, ~2]);
  tree.toggle(2);
  expect(tree.seen(3)).toBe(3);
  tree.toggle(1);
  expect(tree.seen(3)).toBe(~1);
  expect(tree.link).toBe("");
  tree.toggle(1);
  expect(tree.link).toBe("1.2");
});

test("a link opens what is around the groups it names, and nothing that is not there", () => {
  const tree = small();
  tree.link = "2.99.x";
  expect([...tree.open].sort()).toEqual([0, 1, 2]);
});

test("at first as much is open as can be read, and not a loop of many turns", () => {
  expect([...small().open].sort()).toEqual([0, 1, 2]);
  const parent = [-1, 0, ...new Array(40).fill(1)];
  const many = new Tree({
    kind: ["call", "loop", ...new Array(40).fill("turn")], name: parent.map(String), parent, line: parent,
    of: Array.from({ length: 80 }, (_, v) => 2 + Math.floor(v / 2)), rank: Array.from({ length: 80 }, (_, v) => v),
  });
  expect([...many.open]).toEqual([0]);
});
