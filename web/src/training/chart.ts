// Curves over the steps of a run, as SVG: with a scale, or bare to stand beside a number.

import { general, pretty } from "../numbers";

const NS = "http://www.w3.org/2000/svg";
const LETTER = 6.7; // pixels of a letter of the scale

export interface Line {
  at: number[]; values: number[]; kind: string; // the class it is drawn with
  low?: number[]; high?: number[]; // what it is the mean of
  dots?: boolean;
}
export interface Options {
  width: number; height: number; label: string; log: boolean;
  band?: [number, number]; // what is usual
  scale?: boolean;
}

export function svg(tag: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): SVGElement {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** Whether a logarithmic scale shows more: as learn/history.py has it. */
export function spansDecades(values: number[]): boolean {
  const known = values.filter(Number.isFinite);
  return known.length > 0 && Math.min(...known) > 0 && Math.max(...known) > 20 * Math.min(...known);
}

/** Round numbers between two, four or so; of a logarithmic scale powers of ten where there are enough. */
export function ticks(low: number, high: number, log: boolean): number[] {
  if (log) {
    const found: number[] = [];
    const decades = Math.log10(high / low);
    const kept = decades > 2.5 ? [1] : decades > 1.2 ? [1, 3] : decades > 0.5 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    const every = Math.max(1, Math.ceil(decades / 4));
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      if (power % every) continue;
      found.push(...kept.map((digit) => digit * 10 ** power).filter((tick) => tick >= low && tick <= high));
    }
    return found;
  }
  const rough = (high - low) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((digit) => digit * unit >= rough)! * unit;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, k) => (first + k) * step + 0); // + 0: no -0
}

export function chart(lines: Line[], { width, height, label, log, band, scale }: Options): SVGElement {
  const [low, high] = range(lines, log, band);
  const marks = scale ? ticks(low, high, log) : [];
  const names = marks.map((tick) => pretty(general(Number(tick.toPrecision(6)), 4)));
  const left = scale ? 8 + LETTER * Math.max(...names.map((name) => name.length), 1) : 2;
  const [top, bottom, right] = scale ? [8, 20, 10] : [3, 3, 4];
  const all = lines.flatMap((line) => line.at);
  const [first, last] = [Math.min(...all), Math.max(...all)];
  const x = (step: number) => left + (last > first ? (step - first) / (last - first) : 1) * (width - left - right);
  const bend = (value: number) => (log ? Math.log(Math.max(value, low)) : value);
  const y = (value: number) => {
    const part = (bend(value) - bend(low)) / (bend(high) - bend(low) || 1);
    return top + (1 - part) * (height - top - bottom);
  };
  const made = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "chart" });
  if (band) {
    const [floor, ceiling] = [y(Math.max(band[0], low)), y(Math.min(band[1], high))];
    made.append(svg("rect", { class: "band", x: left, width: Math.max(width - left - right, 0), y: ceiling, height: Math.max(floor - ceiling, 0) }));
  }
  marks.forEach((tick, k) => made.append(
    svg("path", { class: "rule", d: `M${left} ${y(tick)}H${width - right}` }),
    svg("text", { x: left - 6, y: y(tick) + 4, class: "end" }, names[k]),
  ));
  for (const step of scale && all.length ? steps(first, last, width) : []) {
    const anchor = x(step) > width - 28 ? "end" : step === first ? "start" : "middle";
    made.append(svg("text", { x: x(step), y: height - 5, class: anchor }, step.toLocaleString("en")));
  }
  for (const line of lines) made.append(...drawn(line, x, y));
  return made;
}

/** From where to where: all finite values, and what is usual, with a little room. */
function range(lines: Line[], log: boolean, band?: [number, number]): [number, number] {
  const known = lines.flatMap((line) => [...line.values, ...(line.low ?? []), ...(line.high ?? [])])
    .concat(band ?? []).filter((value) => Number.isFinite(value) && (!log || value > 0));
  let [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [log ? 0.1 : 0, 1];
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
  const room = log ? (high / low) ** 0.04 : (high - low) * 0.04;
  return log ? [low / room, high * room] : [band || low >= 0 && low < room ? Math.max(low - room, 0) : low - room, high + room];
}

function steps(first: number, last: number, width: number): number[] {
  if (first === last) return [first];
  const inner = ticks(first, last, false).filter((step) => Number.isInteger(step) && step > first + (last - first) * 0.15);
  return [first, ...(width < 240 ? inner.slice(-1) : inner)];
}

function drawn(line: Line, x: (step: number) => number, y: (value: number) => number): SVGElement[] {
  const made: SVGElement[] = [];
  const { low, high } = line;
  if (low && high) {
    const sound = line.at.map((_, k) => k).filter((k) => Number.isFinite(low[k]) && Number.isFinite(high[k]));
    const there = sound.map((k) => `${x(line.at[k]).toFixed(1)} ${y(high[k]).toFixed(1)}`);
    const back = sound.reverse().map((k) => `${x(line.at[k]).toFixed(1)} ${y(low[k]).toFixed(1)}`);
    if (there.length > 1) made.push(svg("path", { class: `spread ${line.kind}`, d: `M${[...there, ...back].join("L")}z` }));
  }
  let path = "";
  let open = false;
  line.values.forEach((value, k) => {
    if (!Number.isFinite(value)) { open = false; return; }
    path += `${open ? "L" : "M"}${x(line.at[k]).toFixed(1)} ${y(value).toFixed(1)}`;
    open = true;
  });
  if (path) made.push(svg("path", { class: `line ${line.kind}`, d: path }));
  const last = line.values.findLastIndex(Number.isFinite);
  line.values.forEach((value, k) => {
    const dot = k === last || (line.dots && line.values.length <= 60);
    if (dot && Number.isFinite(value)) made.push(svg("circle", { class: `dot ${line.kind}`, cx: x(line.at[k]), cy: y(value), r: k === last ? 3 : 2 }));
  });
  return made;
}
