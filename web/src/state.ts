// What the reader has chosen, and what follows from it; whoever shows something asks here.

import { folded } from "./folded";
import type { Paths, Refused, Scene, Steps, View } from "./model";
import type { Nd } from "./nd";
import { constantOf, refusal } from "./program";
import { ORDERS, Track, type Known } from "./timeline";
import { Changed } from "./whatif";

const LEVELS = ["node", "group"];
const FEW = 250; // nodes that are drawn one by one unless asked
const LEGIBLE = 0.5; // of the scale, below which names cannot be read

export class State {
  level: string;
  order = "sorted";
  moment = 0;
  selected = -1;
  chosen = -1; // the group that is selected
  hovered = -1;
  lines: number[] = []; // of the code that are pointed at
  path = -1; // which of the selected leaf's paths is shown; -1 is all
  search = "";
  entry = 0; // of the selected leaf, which can be changed
  leaves = new Map<number, Nd>(); // what if
  comparing = false; // the orders side by side
  introducing = false; // both passes are played because the page has just opened
  track: Track | null = null;
  known: Known | null = null;
  readonly whyNot: string;
  private first: string; // the groups that are open at first
  private readonly few: boolean; // whether a link that does not say is of single nodes
  private changed: Changed | null = null;
  private folds: View | null = null;

  constructor(readonly scene: Scene, readonly inside = "") {
    const count = scene.views.node.model.nodes.label.length;
    this.first = scene.tree.link;
    this.few = count <= FEW;
    this.level = this.few ? "node" : "group";
    this.whyNot = this.timed ? refusal(scene.program, scene.point, scene.views.node.model.nodes.label) : "there are no adjoints; run.backward() gives them";
    this.retrack();
    this.go(this.track?.length ?? 0);
  }

  /** Begin with as much as can be read in a window this wide: groups where single nodes would be too small. */
  fitInto(wide: number): void {
    const { tree } = this.scene;
    if (this.few && (this.nodes.place.width * LEGIBLE <= wide || tree.groups.name.length < 2)) return;
    this.level = "group";
    while (tree.open.size > 1 && this.view.place.width * LEGIBLE > wide) {
      const innermost = [...tree.open].reduce((deepest, g) => (tree.depth[g] >= tree.depth[deepest] ? g : deepest));
      tree.toggle(innermost);
      this.refold();
    }
    this.first = tree.link;
  }

  /** Whether there are steps to show. */
  get timed(): boolean {
    const { timeline } = this.scene;
    return timeline !== null && "orders" in timeline;
  }

  /** The reason an order has no steps. */
  refused(order: string): string {
    const { timeline } = this.scene;
    const steps = timeline && "orders" in timeline ? timeline.orders[order] : timeline;
    return steps && "refused" in steps ? steps.refused : "";
  }

  get view(): View {
    if (this.level === "node") return this.nodes;
    return (this.folds ??= folded(this.nodes, this.scene.tree));
  }

  select(node: number): void {
    if (node !== this.selected) this.entry = 0;
    [this.selected, this.chosen, this.path] = [node, -1, -1];
  }

  choose(group: number): void {
    [this.selected, this.chosen, this.path] = [-1, group, -1];
  }

  /** What a link says of the loop that is open, and of groups: "" where they are as at first. */
  get link(): string {
    const { link } = this.scene.tree;
    const loop = this.inside && `in=${this.inside}`;
    const groups = this.level === "group" && link !== this.first ? `open=${link}` : (this.level === "node") === this.few ? "" : `level=${this.level}`;
    return [loop, groups].filter(Boolean).join("&");
  }

  /** Open the groups that a link names, #open=3.7, or draw as #level=node says; whether that changes anything. */
  follow(hash: string): boolean {
    const asked = new URLSearchParams(hash.slice(1));
    const { tree } = this.scene;
    const open = asked.get("open") ?? tree.link;
    const level = asked.has("open") ? "group" : (asked.get("level") ?? this.level);
    if (!LEVELS.includes(level) || (level === this.level && open === tree.link)) return false;
    tree.link = open;
    this.level = level;
    this.refold();
    return true;
  }

  /** The groups that are open have changed, or the numbers in them. */
  refold(): void {
    this.folds = null;
  }

  /** The view of single nodes, at the point that is looked at. */
  get nodes(): View {
    return this.changed?.view ?? this.scene.views.node;
  }

  steps(order: string): Steps | null {
    return this.timed && !this.refused(order) ? this.begins(order) : null;
  }

  /** The steps of an order; of a recursion that is refused the first ones, if there are any. */
  private begins(order: string): Steps | null {
    const found = (this.scene.timeline as { orders: Record<string, Steps | Refused> }).orders[order];
    const steps = "refused" in found ? found.begins : found;
    if (!steps) return null;
    return this.changed ? this.changed.steps(order, steps) : steps;
  }

  paths(leaf: number): Paths | undefined {
    const found = this.scene.paths?.[leaf];
    return found && this.changed ? this.changed.paths(leaf, found) : found;
  }

  /** Go to a moment of the track. */
  go(moment: number): void {
    if (!this.track) return;
    this.moment = Math.min(Math.max(moment, 0), this.track.length);
    this.known = this.track.at(this.moment);
  }

  reorder(order: string): void {
    const atEnd = this.moment === this.track?.length;
    const step = this.track?.stepAt(this.moment) ?? 0;
    this.order = order;
    this.retrack();
    this.go(atEnd ? this.track!.length : this.track!.ofStep(step));
  }

  /** The value a leaf was given. */
  given(leaf: number): Nd {
    return constantOf(this.scene.point!.leaves[leaf]);
  }

  /** The value it has now. */
  valueOf(leaf: number): Nd {
    return this.leaves.get(leaf) ?? this.given(leaf);
  }

  /** What if this entry of a leaf had another value? */
  assume(leaf: number, entry: number, value: number): void {
    const { shape, data } = this.valueOf(leaf);
    this.leaves.set(leaf, { shape, data: data.map((was, k) => (k === entry ? value : was)) });
    this.changed = new Changed(this.scene, this.leaves);
    this.refold();
    this.retrack();
    this.go(this.moment);
  }

  forget(): void {
    this.leaves.clear();
    this.changed = null;
    this.refold();
    this.retrack();
    this.go(this.moment);
  }

  // -- the orders side by side ----------------------------------------------------------------

  /** The orders that can stand beside each other. */
  get orders(): string[] {
    return this.timed ? Object.keys(ORDERS).filter((order) => this.begins(order)) : [];
  }

  /** Put the orders side by side, from the start of the backward pass; or show one alone again. */
  compare(on: boolean): void {
    if (on === this.comparing || !this.track) return;
    const step = this.track.stepAt(this.moment);
    const atEnd = this.moment === this.track.length;
    this.comparing = on;
    this.retrack();
    this.go(on && atEnd ? this.track.start("backward") : this.track.ofStep(step));
  }

  /** The same at the same step in another order. */
  inOrder(order: string): State {
    const track = this.trackOf(order, false)!;
    const moment = Math.min(this.moment, track.length);
    return Object.assign(Object.create(this) as State, { order, track, moment, known: track.at(moment) });
  }

  private trackOf(order: string, sorted: boolean): Track | null {
    const steps = this.begins(order);
    return steps && new Track(this.scene, order, this.scene.views.node.model.nodes.label.length, steps, sorted);
  }

  private retrack(): void {
    if (this.comparing) {
      const tracks = this.orders.map((order) => this.trackOf(order, false)!);
      this.track = tracks.reduce((longest, track) => (track.length > longest.length ? track : longest));
    } else this.track = this.timed && !this.refused(this.order) ? this.trackOf(this.order, true) : null;
  }
}
