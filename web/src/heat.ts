// An array as a small table: the larger the mark, the larger the number; a hollow one is negative.

import { real, type Summary } from "./model";
import { general } from "./numbers";
import type { Pen } from "./pen";

const SMALLEST = 5; // pixels of a cell
const LARGEST = 8;
const ROOM = 40; // pixels of a table whose cells are large
const ROWS = 12;
const COLUMNS = 16;
const IN_WORDS = 3;
const LONGEST_WORDS = 20;

export interface Heat { rows: number; columns: number; cell: number; levels: (number | null)[] }

/** A few numbers written out; "" where they are too many or too long. */
export function inWords(summary: Summary): string {
  if (!summary.data || summary.shape.reduce((a, b) => a * b, 1) > IN_WORDS) return "";
  const text = `[${summary.data.map((v) => general(size(v) + 0, 3)).join(" ")}]`;
  return text.length <= LONGEST_WORDS ? text : "";
}

/** The picture of an array that is not written out. */
export function heatOf(summary: Summary | undefined): Heat | null {
  if (!summary || inWords(summary)) return null;
  if (summary.heat) {
    const { rows, columns, data } = summary.heat;
    return coarse(data.map((v) => (v === null ? NaN : v - 128)), rows, columns);
  }
  if (!summary.data) return null;
  const columns = summary.shape[summary.shape.length - 1] || 1;
  return coarse(summary.data.map(size), summary.data.length / columns, columns);
}

/** A complex number is shown by its size. */
function size(value: unknown): number {
  if (typeof value === "object" && value) {
    const { re, im } = value as { re: number; im: number };
    return Math.hypot(Number(re), Number(im));
  }
  return real(value as number);
}

/** The means of blocks, by the largest of them: -1 … 1. */
function coarse(data: number[], rows: number, columns: number): Heat {
  const high = Math.min(rows, ROWS);
  const wide = Math.min(columns, COLUMNS);
  const means: number[] = [];
  for (let r = 0; r < high; r++) {
    for (let c = 0; c < wide; c++) {
      let sum = 0;
      let count = 0;
      for (let i = Math.floor((r * rows) / high); i < Math.floor(((r + 1) * rows) / high); i++) {
        for (let j = Math.floor((c * columns) / wide); j < Math.floor(((c + 1) * columns) / wide); j++) {
          sum += data[i * columns + j];
          count += 1;
        }
      }
      means.push(sum / count);
    }
  }
  const largest = Math.max(...means.filter(Number.isFinite).map(Math.abs), 0) || 1;
  return { rows: high, columns: wide, cell: cellOf(high, wide), levels: means.map((v) => (Number.isFinite(v) ? v / largest : null)) };
}

/** Few cells are larger; as in boxes.py. */
function cellOf(rows: number, columns: number): number {
  return Math.min(LARGEST, Math.max(SMALLEST, Math.floor(ROOM / Math.max(rows, columns / 2))));
}

/** Squares for values and circles for adjoints. */
export function drawHeat(context: Pen, heat: Heat, x: number, y: number, which: "value" | "adjoint", colour: string, alarm: string): void {
  context.fillStyle = context.strokeStyle = colour;
  context.lineWidth = 1;
  heat.levels.forEach((level, k) => {
    const cx = x + ((k % heat.columns) + 0.5) * heat.cell;
    const cy = y + (Math.floor(k / heat.columns) + 0.5) * heat.cell;
    if (level === null) {
      context.strokeStyle = alarm;
      context.beginPath();
      context.moveTo(cx - 2, cy - 2); context.lineTo(cx + 2, cy + 2);
      context.moveTo(cx + 2, cy - 2); context.lineTo(cx - 2, cy + 2);
      context.stroke();
      context.strokeStyle = colour;
      return;
    }
    let side = Math.max(1, (heat.cell - 0.6) * Math.sqrt(Math.abs(level)));
    if (level < 0 && side > 2) side -= 1;
    context.beginPath();
    if (which === "value") context.rect(cx - side / 2, cy - side / 2, side, side);
    else context.arc(cx, cy, side / 2, 0, 7);
    if (level >= 0) context.fill();
    else context.stroke();
  });
}

export function norm(summary: Summary): number {
  return summary.norm !== undefined ? real(summary.norm) : Math.hypot(...summary.data!.map(size));
}
