// Groups that are opened and closed where they stand: the picture changes around them, they stay under the eye.

import type { Frame } from "./draw";
import type { Page } from "./main";
import type { Point } from "./wires";

const SLIDE = 260; // milliseconds in which the others make room
const MARGIN = 20; // pixels around a frame that has just opened
const LEGIBLE = 0.55; // of the scale, below which numbers cannot be read
const TRIANGLE = 24; // pixels of a name that are its triangle

export class Opening {
  private started = -Infinity;
  private before = new Map<number, Point>(); // where things were, in the units of the drawing now
  private origin: Point = [0, 0]; // and the group

  constructor(private readonly page: Page) {}

  toggle(group: number): void {
    const { state, camera } = this.page;
    const [x, y] = this.corner(group);
    const screen = ([a, b]: Point): Point => [(a - camera.x) * camera.scale, (b - camera.y) * camera.scale];
    const { place, folds } = state.view;
    const seen = folds?.items.map((item, k): [number, Point] => [item, screen([place.x[k], place.y[k]])]) ?? [];
    const origin = screen([x, y]);
    state.scene.tree.toggle(group);
    state.refold();
    state.choose(group);
    const [left, top] = this.corner(group);
    camera.x += left - x;
    camera.y += top - y;
    this.show(group);
    this.before = new Map(seen.map(([item, at]) => [item, camera.point(...at)]));
    this.origin = camera.point(...origin);
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.started = performance.now();
    this.page.changed();
  }

  /** While the others make room: how far each box is from its place; whether any is. */
  slide(frame: Frame, now: number): boolean {
    const { place, folds } = this.page.state.view;
    const left = (1 - Math.min(Math.max((now - this.started) / SLIDE, 0), 1)) ** 3;
    if (!left || !folds) return false;
    frame.shown = 1 - left;
    frame.slide = (v) => {
      const [x, y] = this.before.get(folds.items[v]) ?? this.origin;
      return [left * (x - place.x[v]), left * (y - place.y[v])];
    };
    return true;
  }

  /** What Enter and e do: open the group that is selected or close it, or close that around the node. */
  turn(): void {
    const { tree } = this.page.state.scene;
    const { chosen, selected, level } = this.page.state;
    if (level !== "group") return;
    const seen = selected >= 0 ? tree.seen(selected) : 0;
    const group = chosen >= 0 ? chosen : seen < 0 ? ~seen : selected >= 0 ? tree.home(selected) : -1;
    if (group > 0) this.toggle(group);
  }

  /** Whether the triangle of a group is at a point of the canvas. */
  onTriangle(px: number, py: number, group: number): boolean {
    const x = this.page.camera.point(px, py)[0] - this.corner(group)[0];
    return x >= -6 && x <= TRIANGLE;
  }

  /** The left end of a group and the height of its name. */
  private corner(group: number): [number, number] {
    const { place, folds } = this.page.state.view;
    const panel = folds?.panels.find((one) => one.group === group);
    const k = folds?.items.indexOf(~group) ?? -1;
    return panel ? [panel.x, panel.y + TRIANGLE / 2] : k >= 0 ? [place.x[k] + place.lead[k], place.y[k]] : [0, 0];
  }

  /** Bring a frame that has just opened into view, as large as it was if it fits. */
  private show(group: number): void {
    const { camera, state } = this.page;
    const panel = state.view.folds?.panels.find((one) => one.group === group);
    if (!panel) return;
    const screen = (): [number, number] => [(panel.x - camera.x) * camera.scale, (panel.y - camera.y) * camera.scale];
    const fitting = Math.min((camera.width - 2 * MARGIN) / panel.wide, (camera.height - 2 * MARGIN) / panel.high);
    if (fitting < camera.scale) camera.zoom(Math.max(fitting, Math.min(LEGIBLE, camera.scale)) / camera.scale, ...screen());
    const [left, top] = screen();
    const within = (at: number, size: number, room: number) =>
      at < MARGIN || size + 2 * MARGIN > room ? MARGIN - at : Math.min(room - MARGIN - at - size, 0);
    camera.pan(within(left, panel.wide * camera.scale, camera.width), within(top, panel.high * camera.scale, camera.height));
  }
}
