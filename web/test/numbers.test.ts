import { expect, test } from "vitest";
import { brief, general, pretty } from "../src/numbers";

test("numbers are written as Python's %g writes them", () => {
  const cases: [number, string][] = [
    [-12, "-12"], [0.1, "0.1"], [1e-5, "1e-05"], [0.0001, "0.0001"], [123456, "123456"], [1234567, "1.23457e+06"],
    [999999.5, "1e+06"], [2.5e10, "2.5e+10"], [1e100, "1e+100"], [0, "0"], [-0, "-0"], [NaN, "nan"], [Infinity, "inf"],
    [-Infinity, "-inf"], [1 / 3, "0.333333"], [100, "100"], [1.890625, "1.89062"],
    [1.890635, "1.89064"], [-0.5, "-0.5"], [-0.00123456789, "-0.00123457"], [-1e-7, "-1e-07"], [99999.95, "99999.9"],
  ];
  for (const [value, text] of cases) expect(general(value)).toBe(text);
  expect(general(0.31394, 4)).toBe("0.3139");
});

test("a minus is printed as one, a hyphen in a name is not", () => {
  expect(pretty("-4 × -1")).toBe("−4 × −1");
  expect(pretty("[-1 2e-05]")).toBe("[−1 2e-05]");
  expect(pretty("data-driven")).toBe("data-driven");
});

test("an array is brief", () => {
  expect(brief("3×4, norm 0.2")).toBe("norm 0.2");
  expect(brief("[ 3.000 0. -4.000]")).toBe("norm 5");
  expect(brief("[1 2]")).toBe("[1 2]");
});
