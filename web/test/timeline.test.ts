import { expect, test } from "vitest";
import type { Piece, Scene, Steps } from "../src/model";
import { Track } from "../src/timeline";

/** x, y = x·x, with a sort of both. */
function track(): Track {
  const line = (text: string): Piece[][] => [[["1", "dim"], [text, "adjoint"]]];
  const steps: Steps = {
    kind: [0, 0, 1, 1], node: [0, 1, 1, 0], why: ["given", "parents", "seed", "children"], wrong: ["", "", "", ""],
    lines: ["3", "9", "1", "6"].map(line), adds: [null, null, { parent: [0], contribution: ["6"], after: ["6"] }, null],
  };
  const sort = { kind: ["push", "push", "backtrack", "placed", "backtrack", "placed"], node: [1, 0, 0, 0, 1, 1] };
  return new Track({ timeline: { sort: { dfs: sort }, orders: { sorted: steps } } } as unknown as Scene, "sorted", 2, steps);
}

test("step by step it comes to the same as at once, and back again", () => {
  const walked = track();
  const moments = [...Array(walked.length + 1).keys()];
  for (const moment of [...moments, 3, 9, 2, ...moments]) expect(walked.at(moment)).toEqual(track().at(moment));
});

test("the sums of a step are those before what it adds", () => {
  const known = track().at(9);
  expect([known.phase, known.node, known.sums, known.before]).toEqual(["backward", 1, ["6", "1"], ["", "1"]]);
  expect(known.settled).toEqual([false, true]);
});
