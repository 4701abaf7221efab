import { Tree } from "../src/tree";

/** root (0): node 0 (a leaf), group 1 [nodes 1, 2, group 2 [3, 4]], node 5. */
export function small(): Tree {
  return new Tree({
    kind: ["call", "call", "line"], name: ["f", "g", "h = …"], parent: [-1, 0, 1], line: [-1, 0, 1],
    of: [0, 1, 1, 2, 2, 0], rank: [0, 1, 2, 3, 4, 5],
  });
}
