// The box of a loop, opened: which iteration the page is about, the way out, and how numbers go from one to the next.

import { button, h, type Child } from "./dom";
import { sceneOf, type Loop, type Scene } from "./model";
import { general } from "./numbers";

/** A loop, by its node, and one of its iterations; a loop in it comes after it. */
export interface Opened { node: number; iteration: number }
export type Trail = Opened[];

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 240, HIGH = 44; // units of a chart
const LOGARITHMIC = 30; // between the largest and the smallest, from which on a chart counts powers
const FADES = 1e-3; // of a gradient on its way back, from which on it is said to vanish

/** What a link says of loops that are open: #in=2.500/3.1 */
export function trailOf(hash: string): Trail {
  const text = new URLSearchParams(hash.slice(1)).get("in") ?? "";
  return text.split("/").map((part) => part.split(".").map(Number)).filter((part) => part.length === 2)
    .map(([node, iteration]) => ({ node, iteration }));
}

export function linkOf(trail: Trail): string {
  return trail.map(({ node, iteration }) => `${node}.${iteration}`).join("/");
}

/** The scene at the end of a trail, and what of the trail exists. */
export function sceneAt(root: Scene, trail: Trail): { scene: Scene; trail: Trail; around: Scene | null } {
  const found: Trail = [];
  let scene = root;
  let around: Scene | null = null;
  for (const { node, iteration } of trail) {
    const loop = scene.loops[node];
    const at = loop?.kept.indexOf(iteration) ?? -1;
    if (at < 0) break;
    found.push({ node, iteration });
    [around, scene] = [scene, sceneOf({ ...(loop.scenes[at] as object), source: loop.source })];
  }
  return { scene, trail: found, around };
}

/** Above an iteration: the way out, which one it is, the others that can be seen. */
export function insideBar(around: Scene, at: Opened, open: (to: Opened | null) => void): Child[] {
  const loop = around.loops[at.node];
  const out = button("", "", () => open(null), "← out of the loop");
  out.id = "out";
  out.title = "Back to the graph around the loop (Backspace)";
  const row = loop.kept.map((iteration) => {
    const made = button((iteration + 1).toLocaleString("en"), "chip", () => open({ node: at.node, iteration }));
    made.setAttribute("aria-pressed", String(iteration === at.iteration));
    return made;
  });
  const about = `iteration ${(at.iteration + 1).toLocaleString("en")} of ${loop.count.toLocaleString("en")}`;
  const others = loop.kept.length > 1 && h("span", "chips", h("span", "dim", "see"), ...row);
  return [out, h("strong", "", about), others, chart(loop, at.iteration)];
}

/** The iteration before or after, of those that are written out. */
export function beside(around: Scene, at: Opened, by: number): Opened | null {
  const { kept } = around.loops[at.node];
  const iteration = kept[kept.indexOf(at.iteration) + by];
  return iteration === undefined ? null : { node: at.node, iteration };
}

/** In the card of a loop's box. */
export function loopCard(loop: Loop, open: () => void): HTMLElement {
  const first = button("", "", open, "open the loop");
  first.id = "open-loop";
  first.title = "See one iteration (Enter, or double-click)";
  return h("div", "", h("p", "", `one iteration, ${loop.count.toLocaleString("en")} times `, first), chart(loop, -1));
}

/** How large what is carried is, and its adjoint, from iteration to iteration. */
function chart(loop: Loop, iteration: number): HTMLElement | null {
  const { value, adjoint } = loop.sizes;
  if (!value || value.length < 2) return null;
  const rows = loop.kept[0] > loop.kept[loop.kept.length - 1] ? "last row first" : "";
  const lines = [["value", value], ["adjoint", adjoint]] as const;
  const drawn = document.createElementNS(SVG, "svg");
  drawn.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  drawn.setAttribute("preserveAspectRatio", "none");
  const at = (k: number) => (value.length > 1 ? (k / (value.length - 1)) * WIDE : 0);
  const place = loop.kept[0] > loop.kept[loop.kept.length - 1] ? loop.count - 1 - iteration : iteration;
  if (iteration >= 0) drawn.append(stroke("now", `M${at(place)} 0V${HIGH}`));
  for (const [kind, sizes] of lines) if (sizes) drawn.append(stroke(kind, curve(sizes, at)));
  const said = lines.flatMap(([kind, sizes]) => (sizes ? [h("span", kind, `${kind === "value" ? "carried" : "its adjoint"} ${ends(sizes)}`)] : []));
  const note = adjoint && verdict(adjoint);
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", `From the first iteration to the last: ${said.map((span) => span.textContent).join("; ")}`);
  return h("div", "sizes", drawn as unknown as HTMLElement, h("p", "", ...said.flatMap((span) => [span, " "]), rows && h("span", "dim", rows), note && h("span", "wrong", note)));
}

function stroke(kind: string, path: string): SVGPathElement {
  const made = document.createElementNS(SVG, "path");
  made.setAttribute("class", kind);
  made.setAttribute("d", path);
  return made;
}

const real = (size: number | null): size is number => size !== null && Number.isFinite(size);

function ends(sizes: (number | null)[]): string {
  const text = (size: number | null) => (real(size) ? general(size, 3) : "not finite");
  return `${text(sizes[0])} → ${text(sizes[sizes.length - 1])}`;
}

/** A curve of at most one point a unit; of powers where the sizes span many. */
export function curve(sizes: (number | null)[], at: (k: number) => number): string {
  const known = sizes.filter(real);
  const above = known.filter((size) => size > 0);
  const [low, high] = [Math.min(...above), Math.max(...above)];
  const powers = above.length > 0 && high / low > LOGARITHMIC;
  const height = (size: number) => {
    const share = powers ? (Math.log(Math.max(size, low)) - Math.log(low)) / (Math.log(high) - Math.log(low)) : high > 0 ? size / high : 0;
    return HIGH - 3 - share * (HIGH - 6);
  };
  const step = Math.max(1, Math.ceil(sizes.length / WIDE));
  let path = "";
  let pen = "M";
  sizes.forEach((size, k) => {
    if (k % step && k !== sizes.length - 1) return;
    if (!real(size)) { pen = "M"; return; }
    path += `${pen}${at(k).toFixed(1)} ${height(size).toFixed(1)}`;
    pen = "L";
  });
  return path;
}

/** What the adjoints say of the way back through the loop, where there is something to be said. */
export function verdict(adjoint: (number | null)[]): string {
  const [first, last] = [adjoint[0], Math.max(...adjoint.filter(real).slice(-1))];
  if (!real(first) || !(last > 0)) return "";
  const factor = first / last;
  if (factor <= FADES) return `the gradient vanishes: ×${general(factor, 2)} on its way back`;
  return factor >= 1 / FADES ? `the gradient explodes: ×${general(factor, 2)} on its way back` : "";
}
