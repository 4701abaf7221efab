// What a picture is drawn with: a canvas, or a recorder that writes the same strokes down as SVG.

/** The part of a canvas that pictures use; SVG must be able to say all of it. */
export interface Pen extends Pick<CanvasRenderingContext2D, "fillStyle" | "strokeStyle" | "lineWidth" | "lineCap" | "globalAlpha" | "font" | "textAlign"> {
  setTransform(a: number, b: number, c: number, d: number, e: number, f: number): void;
  setLineDash(pieces: number[]): void;
  beginPath(): void;
  closePath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void;
  arc(x: number, y: number, radius: number, start: number, end: number): void;
  rect(x: number, y: number, width: number, height: number): void;
  roundRect(x: number, y: number, width: number, height: number, radius: number): void;
  fill(): void;
  stroke(): void;
  fillRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number): void;
  measureText(text: string): { width: number };
}

const ANCHORS: Record<string, string> = { center: "middle", right: "end" };

/** A pen whose drawing is SVG: colours and fonts are attributes, so no style sheet is needed. */
export class SvgPen implements Pen {
  fillStyle: Pen["fillStyle"] = "#000";
  strokeStyle: Pen["strokeStyle"] = "#000";
  lineWidth = 1;
  lineCap: Pen["lineCap"] = "butt";
  globalAlpha = 1;
  font = "";
  textAlign: Pen["textAlign"] = "left";
  private dash: number[] = [];
  private path = "";
  private pending = { style: "", path: "" }; // marks of one style that follow each other are one element
  private readonly made: string[] = [];

  constructor(private readonly widthOf: (text: string, font: string) => number) {}

  setTransform(...matrix: [number, number, number, number, number, number]): void {
    this.flush();
    if (this.made.length) this.made.push("</g>");
    this.made.push(`<g transform="matrix(${matrix.map((value) => short(value, 1e5)).join(" ")})">`);
  }

  setLineDash(pieces: number[]): void { this.dash = pieces; }
  beginPath(): void { this.path = ""; }
  closePath(): void { this.path += "z"; }
  moveTo(x: number, y: number): void { this.path += `M${points(x, y)}`; }
  lineTo(x: number, y: number): void { this.path += `L${points(x, y)}`; }
  bezierCurveTo(...at: [number, number, number, number, number, number]): void { this.path += `C${points(...at)}`; }

  arc(x: number, y: number, radius: number, start: number, end: number): void {
    const round = Math.min(end - start, 2 * Math.PI);
    const at = (angle: number) => points(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
    const to = (angle: number) => `A${points(radius, radius)} 0 0 1 ${at(angle)}`;
    this.path += `${this.path ? "L" : "M"}${at(start)}${to(start + round / 2)}${to(start + round)}`;
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${points(x, y)}h${short(width)}v${short(height)}h${short(-width)}z`;
  }

  roundRect(x: number, y: number, width: number, height: number, radius: number): void {
    const r = Math.min(radius, width / 2, height / 2);
    const corner = (dx: number, dy: number) => `a${points(r, r)} 0 0 1 ${points(dx, dy)}`;
    const [across, down] = [short(width - 2 * r), short(height - 2 * r)];
    this.path += `M${points(x + r, y)}h${across}${corner(r, r)}v${down}${corner(-r, r)}h-${across}${corner(-r, -r)}v-${down}${corner(r, -r)}z`;
  }

  fill(): void { this.mark(`fill="${this.fillStyle}"${this.opacity()}`); }

  stroke(): void {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    const cap = this.lineCap === "butt" ? "" : ` stroke-linecap="${this.lineCap}"`;
    this.mark(`fill="none" stroke="${this.strokeStyle}" stroke-width="${short(this.lineWidth)}"${cap}${dash}${this.opacity()}`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const path = this.path;
    this.beginPath();
    this.rect(x, y, width, height);
    this.fill();
    this.path = path;
  }

  fillText(text: string, x: number, y: number): void {
    if (!text) return;
    this.flush();
    const [, italic, weight, size] = this.font.match(/^(italic )?(\d+ )?([\d.]+)px/)!;
    const anchor = ANCHORS[this.textAlign];
    this.made.push(`<text x="${short(x)}" y="${short(y)}" font-size="${size}"${weight ? ` font-weight="${weight.trim()}"` : ""}${italic ? ' font-style="italic"' : ""}${anchor ? ` text-anchor="${anchor}"` : ""} fill="${this.fillStyle}"${this.opacity()}>${escaped(text)}</text>`);
  }

  measureText(text: string): { width: number } {
    return { width: this.widthOf(text, this.font) };
  }

  /** All that was drawn, as a file of this size. */
  file(width: number, height: number, title: string, description: string): string {
    this.flush();
    const family = this.font.replace(/^.*?px /, "").replaceAll('"', "'");
    const size = `width="${short(width)}" height="${short(height)}" viewBox="0 0 ${points(width, height)}"`;
    const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" font-family="${escaped(family)}" xml:space="preserve">`;
    return [head, `<title>${escaped(title)}</title>`, `<desc>${escaped(description)}</desc>`, ...this.made, this.made.length ? "</g>" : "", "</svg>\n"].join("\n");
  }

  private opacity(): string {
    return this.globalAlpha === 1 ? "" : ` opacity="${short(this.globalAlpha)}"`;
  }

  private mark(style: string): void {
    if (!this.path) return;
    if (style !== this.pending.style || this.globalAlpha < 1) this.flush();
    this.pending = { style, path: this.pending.path + this.path };
  }

  private flush(): void {
    if (this.pending.path) this.made.push(`<path d="${this.pending.path}" ${this.pending.style}/>`);
    this.pending = { style: "", path: "" };
  }
}

/** Text that cannot be read as markup, and that holds no character XML does not have. */
export function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, " ").replace(/[&<>"']/g, (letter) => names[letter]);
}

function short(value: number, fine = 100): string {
  return String(Math.round(value * fine) / fine);
}

function points(...values: number[]): string {
  return values.map((value) => short(value)).join(" ");
}
