// The picture as a file, SVG or PNG: what is on the screen at this moment, and the step in words below.

import { Camera } from "./camera";
import { byId, h } from "./dom";
import { FONT, type Frame, type Picture } from "./draw";
import type { Place } from "./model";
import { SvgPen, type Pen } from "./pen";
import type { Colours } from "./theme";

const ROOM = 28; // around the drawing, in pixels of it
const LEAST = 380; // pixels that a caption is wide
const LINE = 20;
const LETTER = 13 * 0.602;
const FINE = 2; // pixels of a PNG per pixel of the screen

/** What is shown of a page now. */
export interface Shown {
  picture: Picture;
  place: Place;
  camera: Camera;
  frame: Frame;
  colours: Colours;
  file: string; // its name
  heading: string;
  title: string;
  description: string;
}
type Word = [text: string, kind: string];

export function saveSvg(shown: Shown): void {
  download(new Blob([svgOf(shown)], { type: "image/svg+xml" }), `${shown.file}.svg`);
}

export function savePng(shown: Shown): void {
  const sheet = new Sheet(shown, caption(shown));
  const canvas = h("canvas");
  [canvas.width, canvas.height] = [FINE * sheet.width, FINE * sheet.height];
  sheet.draw(canvas.getContext("2d")!, FINE);
  canvas.toBlob((blob) => download(blob!, `${shown.file}.png`));
}

export function svgOf(shown: Shown, lines: Word[][] = caption(shown)): string {
  const context = h("canvas").getContext("2d")!;
  const pen = new SvgPen((text, font) => {
    context.font = font;
    return context.measureText(text).width;
  });
  const sheet = new Sheet(shown, lines);
  sheet.draw(pen, 1);
  return pen.file(sheet.width, sheet.height, shown.title, shown.description);
}

/** A drawing with its caption: one code for every kind of file. */
class Sheet {
  private readonly camera: Camera;
  private readonly lines: Word[][];

  constructor(private readonly shown: Shown, lines: Word[][]) {
    this.camera = cropped(shown.camera, shown.place, lines.length ? LEAST : 0);
    this.lines = lines.flatMap((line) => wrapped(line, Math.floor((this.width - 2 * ROOM) / LETTER)));
  }

  get width(): number { return this.camera.width; }
  get height(): number { return this.camera.height + (this.lines.length ? this.lines.length * LINE + ROOM : 0); }

  draw(pen: Pen, ratio: number): void {
    const { picture, frame, colours } = this.shown;
    picture.draw(pen, this.camera, ratio, colours, frame);
    const top = this.camera.height;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colours.ground;
    pen.fillRect(0, top, this.width, this.height - top); // the picture may reach over its edge
    pen.textAlign = "left";
    this.lines.forEach((line, k) => {
      let x = ROOM;
      for (const [text, kind] of line) {
        pen.font = `${kind === "adjoint" ? "italic " : ""}${kind === "title" ? "600 " : ""}13px ${FONT}`;
        pen.fillStyle = colours[kind as keyof Colours] ?? colours.text;
        pen.fillText(text, x, top + (k + 0.5) * LINE);
        x += pen.measureText(text).width;
      }
    });
  }
}

/** The part of the drawing that is seen, without empty ground around it. */
function cropped(camera: Camera, place: Place, least: number): Camera {
  const { scale } = camera;
  const left = Math.max(camera.x, -ROOM);
  const top = Math.max(camera.y, -ROOM);
  const wide = (Math.min(camera.x + camera.width / scale, place.width + ROOM) - left) * scale;
  const high = (Math.min(camera.y + camera.height / scale, place.height + ROOM / 2) - top) * scale;
  const width = Math.round(Math.max(wide, least, 1));
  return Object.assign(new Camera(), { x: left - (width - wide) / 2 / scale, y: top, scale, width, height: Math.round(Math.max(high, 1)) });
}

/** The name of it, and what the panel says of this step, with the kinds of its words. */
function caption(shown: Shown): Word[][] {
  const said = [...byId("now").querySelectorAll("section[class] > :is(h2, h3, p)")].map((line) => {
    const gap = line.className === "chips" ? " " : "";
    return [...line.childNodes].map((part): Word => [part.textContent + gap, part instanceof Element ? kindOf(part) : kindOf(line)]);
  });
  return [[[shown.heading, "title"]], ...said.filter((line) => line.length)];
}

function kindOf(element: Element): string {
  if (element.matches("h2, h3")) return "dim";
  return ["value", "adjoint", "wrong", "dim"].find((kind) => element.classList.contains(kind)) ?? "text";
}

/** A line in pieces that are no longer than so many letters. */
function wrapped(line: Word[], most: number): Word[][] {
  const rows: Word[][] = [[]];
  let used = 0;
  for (const [text, kind] of line) {
    for (const word of text.match(/\s*\S+|\s+$/g) ?? []) {
      const full = used > 0 && used + word.length > most;
      const put = full ? word.trimStart() : word;
      if (full) rows.push([]);
      used = (full ? 0 : used) + put.length;
      const row = rows.at(-1)!;
      const last = row.at(-1);
      if (last?.[1] === kind) last[0] += put;
      else row.push([put, kind]);
    }
  }
  return rows;
}

function download(blob: Blob, name: string): void {
  const link = h("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
