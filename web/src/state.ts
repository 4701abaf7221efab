// What the reader has chosen, and what follows from it; whoever shows something asks here.

import { refusal } from "./evaluate";
import { folded } from "./folded";
import type { Paths, Scene, Steps, View } from "./model";
import { Track, type Known } from "./timeline";
import { changed, type Changed } from "./whatif";

const LEVELS = ["node", "group"];
const FEW = 250; // nodes that are drawn one by one unless asked

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
  leaves = new Map<number, number>(); // what if
  track: Track | null = null;
  known: Known | null = null;
  readonly whyNot: string;
  private readonly first: string; // the groups that are open at first
  private readonly few: boolean; // whether at first every node is drawn
  private changed: Changed | null = null;
  private folds: View | null = null;

  constructor(readonly scene: Scene) {
    const count = scene.views.node.model.nodes.label.length;
    this.first = scene.tree.link;
    this.few = count <= FEW;
    this.level = this.few ? "node" : "group";
    this.whyNot = this.timed ? refusal(scene.program) : "there are no adjoints; run.backward() gives them";
    this.retrack();
    this.go(this.track?.length ?? 0);
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
    [this.selected, this.chosen, this.path] = [node, -1, -1];
  }

  choose(group: number): void {
    [this.selected, this.chosen, this.path] = [-1, group, -1];
  }

  /** What a link says of groups: "" where they are as at first. */
  get link(): string {
    const { link } = this.scene.tree;
    if (this.level === "group" && link !== this.first) return `open=${link}`;
    return (this.level === "node") === this.few ? "" : `level=${this.level}`;
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
    if (!this.timed || this.refused(order)) return null;
    return this.changed?.orders[order] ?? (this.scene.timeline as { orders: Record<string, Steps> }).orders[order];
  }

  paths(leaf: number): Paths | undefined {
    return (this.changed?.paths ?? this.scene.paths)?.[leaf];
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

  /** What if this leaf had another value? */
  assume(leaf: number, value: number | null): void {
    if (value === null) this.leaves.delete(leaf);
    else this.leaves.set(leaf, value);
    this.changed = this.leaves.size ? changed(this.scene, this.leaves) : null;
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

  private retrack(): void {
    const steps = this.steps(this.order);
    const count = this.scene.views.node.model.nodes.label.length;
    this.track = steps ? new Track(this.scene, this.order, count, steps) : null;
  }
}
