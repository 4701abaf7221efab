// Arrays in a few characters, letter for letter as Python and NumPy write them.

import { normOf, type Nd } from "./nd";
import { general } from "./numbers";

const FEW = 4; // entries of an array that is written out
const DECIMALS = 4;
const LARGE = 1e8;

/** As `shown` of view/values.py: a number, a small array in full, a large one by shape and size. */
export function shown({ shape, data }: Nd, kind: string): string {
  if (!shape.length) return kind === "f" ? general(data[0]) : exact(data[0], kind);
  if (data.length <= FEW) return written({ shape, data }, kind);
  return `${shape.join("×")}, norm ${general(normOf(data), 4)}`;
}

function exact(value: number, kind: string): string {
  return kind === "b" ? (value ? "True" : "False") : String(value);
}

/** np.array2string with a precision of 4, small numbers suppressed, and lines joined. */
export function written({ shape, data }: Nd, kind = "f"): string {
  if (!data.length) return "[]";
  const texts = kind === "f" ? floats([...data]) : aligned([...data].map((value) => exact(value, kind)), kind === "b" ? 5 : 0);
  const nested = (axis: number, at: number, size: number): string => {
    if (axis === shape.length) return texts[at];
    const part = size / shape[axis];
    const parts = Array.from({ length: shape[axis] }, (_, k) => nested(axis + 1, at + k * part, part));
    return `[${parts.join(axis === shape.length - 1 ? " " : " ".repeat(axis + 1))}]`;
  };
  return nested(0, 0, data.length);
}

function aligned(texts: string[], least: number): string[] {
  const width = Math.max(least, ...texts.map((text) => text.length));
  return texts.map((text) => text.padStart(width));
}

/** Numbers with their points below each other. */
function floats(values: number[]): string[] {
  const finite = values.filter(Number.isFinite);
  const scientific = finite.some((value) => Math.abs(value) >= LARGE);
  const parts = scientific ? exponential(finite) : finite.map(positional);
  const split = parts.map((text) => text.split("."));
  let left = Math.max(0, ...split.map(([whole]) => whole.length));
  const right = Math.max(0, ...split.map(([, rest]) => rest.length));
  if (finite.length < values.length) left = Math.max(left, 3 - right - 1, 3 + Number(values.includes(-Infinity)) - right - 1);
  let next = 0;
  return values.map((value) => {
    if (!Number.isFinite(value)) return general(value).padStart(left + right + 1);
    const [whole, rest] = split[next++];
    return `${whole.padStart(left)}.${rest.padEnd(right)}`;
  });
}

/** The shortest digits that tell the number apart, four of them after the point at the most. */
function positional(value: number): string {
  const size = Math.abs(value);
  const shortest = String(size);
  const digits = /e/.test(shortest) || (shortest.split(".")[1]?.length ?? 0) > DECIMALS ? toEven(size.toFixed(60), DECIMALS, size) : shortest;
  const minus = value < 0 || Object.is(value, -0) ? "-" : "";
  return minus + trimmed(digits);
}

/** Rounded after so many decimals; what lies in the middle goes to the even digit. */
function toEven(all: string, decimals: number, size: number): string {
  const cut = all.indexOf(".") + 1 + decimals;
  const kept = all.slice(0, cut);
  const middle = /^50*$/.test(all.slice(cut));
  return middle && Number(kept.at(-1)) % 2 === 0 ? kept : size.toFixed(decimals);
}

/** Without zeros at the end, with a point: "0.25", "3.". */
function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/0+$/, "") : `${text}.`;
}

function exponential(values: number[]): string[] {
  const digits = (value: number) => {
    const shortest = value.toExponential().split("e")[0].split(".")[1] ?? "";
    const four = value.toExponential(DECIMALS).split("e")[0].split(".")[1].replace(/0+$/, "");
    return shortest.length <= DECIMALS ? shortest.length : four.length;
  };
  const most = Math.max(...values.map(digits));
  const split = values.map((value) => value.toExponential(most).split("e"));
  const wide = Math.max(2, ...split.map(([, power]) => power.length - 1));
  return split.map(([mantissa, power]) => `${mantissa.includes(".") ? mantissa : `${mantissa}.`}e${power[0]}${power.slice(1).padStart(wide, "0")}`);
}
