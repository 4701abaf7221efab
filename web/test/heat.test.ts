// Small tables of squares: the sizes are those of src/chainrule/view/boxes.py.
import { describe, expect, it } from "vitest";
import { heatOf } from "../src/heat";

const cell = (rows: number, columns: number) => heatOf({ shape: [rows, columns], data: Array.from({ length: rows * columns }, (_, k) => k + 0.123) })!.cell;

describe("cells", () => {
  it("are larger where they are few (test_svg.py has the same table)", () => {
    expect([cell(1, 4), cell(3, 4), cell(5, 5), cell(6, 2), cell(8, 8), cell(12, 3), cell(1, 12), cell(4, 16)]).toEqual([8, 8, 8, 6, 5, 5, 6, 5]);
  });
});
