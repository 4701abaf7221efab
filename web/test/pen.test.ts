// The recorder writes what a canvas would draw, as SVG.
import { describe, expect, it } from "vitest";
import { escaped, SvgPen } from "../src/pen";

const made = (draw: (pen: SvgPen) => void): string => {
  const pen = new SvgPen((text) => 7 * text.length);
  pen.font = '12px Menlo, "DejaVu Sans Mono"';
  pen.setTransform(1, 0, 0, 1, 0, 0);
  draw(pen);
  return pen.file(200, 100, "a title", "words");
};

describe("shapes", () => {
  it("fills and strokes with the colours of the moment", () => {
    const svg = made((pen) => {
      pen.fillStyle = "#abc";
      pen.fillRect(1, 2, 3, 4);
      pen.strokeStyle = "#123";
      pen.lineWidth = 1.4;
      pen.lineCap = "round";
      pen.setLineDash([3, 3]);
      pen.beginPath();
      pen.moveTo(0, 0);
      pen.bezierCurveTo(1, 0, 1, 5, 2, 5.123);
      pen.stroke();
    });
    expect(svg).toContain('<path d="M1 2h3v4h-3z" fill="#abc"/>');
    expect(svg).toContain('<path d="M0 0C1 0 1 5 2 5.12" fill="none" stroke="#123" stroke-width="1.4" stroke-linecap="round" stroke-dasharray="3 3"/>');
  });

  it("draws all of a circle, though a canvas is told 0 … 7", () => {
    const svg = made((pen) => { pen.beginPath(); pen.arc(10, 10, 5, 0, 7); pen.fill(); });
    expect(svg).toContain('d="M15 10A5 5 0 0 1 5 10A5 5 0 0 1 15 10"');
  });

  it("rounds corners no more than the box allows", () => {
    const svg = made((pen) => { pen.beginPath(); pen.roundRect(0, 0, 10, 4, 9); pen.fill(); });
    expect(svg).toContain('d="M2 0h6a2 2 0 0 1 2 2v0a2 2 0 0 1 -2 2h-6a2 2 0 0 1 -2 -2v-0a2 2 0 0 1 2 -2z"');
  });

  it("joins marks of one style that follow each other, and no others", () => {
    const dots = (...colours: string[]) => made((pen) => colours.forEach((colour, k) => { pen.fillStyle = colour; pen.fillRect(k, 0, 1, 1); }));
    expect(dots("#111", "#111", "#222").match(/<path/g)).toHaveLength(2);
    expect(dots("#111", "#222", "#111").match(/<path/g)).toHaveLength(3);
  });

  it("does not join what is seen through", () => {
    const svg = made((pen) => { pen.globalAlpha = 0.3; pen.fillRect(0, 0, 2, 2); pen.fillRect(1, 1, 2, 2); });
    expect(svg.match(/opacity="0.3"/g)).toHaveLength(2);
  });

  it("groups by transform, and closes every group", () => {
    const svg = made((pen) => { pen.setTransform(1.86361, 0, 0, 1.86361, -5, 7.5); pen.fillRect(0, 0, 1, 1); });
    expect(svg).toContain('<g transform="matrix(1.86361 0 0 1.86361 -5 7.5)">');
    expect(svg.match(/<g /g)?.length).toBe(svg.match(/<\/g>/g)?.length);
  });
});

describe("text", () => {
  it("has size, weight, slant and place", () => {
    const svg = made((pen) => {
      pen.font = "600 10px Menlo";
      pen.textAlign = "center";
      pen.fillStyle = "#0b6e99";
      pen.fillText("q", 5, 6);
      pen.font = "italic 12px Menlo";
      pen.textAlign = "left";
      pen.fillText("-4", 7, 8);
      pen.fillText("", 7, 8);
    });
    expect(svg).toContain('<text x="5" y="6" font-size="10" font-weight="600" text-anchor="middle" fill="#0b6e99">q</text>');
    expect(svg).toContain('<text x="7" y="8" font-size="12" font-style="italic" fill="#0b6e99">-4</text>');
    expect(svg.match(/<text/g)).toHaveLength(2);
  });

  it("is never markup, and has no character that XML has not", () => {
    expect(escaped(`</text><script a="1" b='2'>&`)).toBe("&lt;/text&gt;&lt;script a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;");
    expect(escaped("a\u0000b\u001bc\ud800d\uffffe")).toBe("a b c d e");
    expect(escaped("q̄ = √x 😀")).toBe("q̄ = √x 😀");
  });
});
