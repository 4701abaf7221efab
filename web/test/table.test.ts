import { expect, test } from "vitest";
import { grouped } from "../src/beside";
import { placeOf } from "../src/edit";
import { asText } from "../src/nodetable";

test("large counts are grouped, and beyond 10^18 not counted", () => {
  expect(grouped("999")).toBe("999");
  expect(grouped("3221225469")).toBe("3,221,225,469");
  expect(grouped("1000000000000000000")).toBe("more than 10^18");
});

test("the place of an entry", () => {
  expect(placeOf([], 0)).toBe("");
  expect(placeOf([3, 4], 7)).toBe("[1, 3]");
  expect(placeOf([2, 1, 3], 5)).toBe("[1, 0, 2]");
});

test("a table as text has one line a row, whatever a cell holds", () => {
  expect(asText([["a", "b\tc\nd"], ["1", "2"]])).toBe("a\tb c d\n1\t2");
});
