// The nodes as a tree of calls, loops and lines, as src/chainrule/view/groups.py writes it, and what of it is open.

export interface Groups { kind: string[]; name: string[]; parent: number[]; line: number[]; of: number[]; rank: number[] }

const FEW = 30; // boxes that are seen at first
const SMALL = 12; // things in a group that is opened by itself
const SHORT = 7; // things in a loop that is, where little else is seen, but not its turns

/** Things in a group: a node is its number v, a group g is ~g, which is negative. */
export class Tree {
  readonly items: number[][];
  readonly count: Int32Array; // nodes in each group
  readonly depth: Int32Array;
  open = new Set<number>();

  constructor(readonly groups: Groups) {
    const { parent, of, rank } = groups;
    this.items = parent.map(() => []);
    this.count = new Int32Array(parent.length);
    this.depth = new Int32Array(parent.length);
    const last = new Int32Array(parent.length).fill(-1); // the first may be a leaf, which came long before
    of.forEach((g, v) => {
      this.items[g].push(v);
      this.count[g] += 1;
      last[g] = Math.max(last[g], rank[v]);
    });
    for (let g = parent.length - 1; g > 0; g--) { // a group comes after the one it is in
      this.items[parent[g]].push(~g);
      this.count[parent[g]] += this.count[g];
      last[parent[g]] = Math.max(last[parent[g]], last[g]);
    }
    for (let g = 1; g < parent.length; g++) this.depth[g] = this.depth[parent[g]] + 1;
    const place = (item: number) => (item < 0 ? last[~item] : rank[item]);
    for (const items of this.items) items.sort((a, b) => place(a) - place(b));
    this.begin();
  }

  /** Open as much as can be read at one look: the largest groups first, loops last. */
  begin(): void {
    this.open = new Set([0]);
    let seen = this.items[0].length;
    const inside = (g: number) => this.items[g].filter((item) => item < 0).map((item) => ~item);
    let closed = inside(0);
    while (closed.length) {
      const wanted = closed.filter((g) => this.items[g].length <= SMALL && seen + this.items[g].length <= FEW
        && this.groups.kind[g] !== "leaves" && (this.groups.kind[g] !== "loop" || (this.items[g].length <= SHORT && seen <= SHORT)));
      if (!wanted.length) break;
      const largest = wanted.reduce((best, g) => (this.count[g] > this.count[best] ? g : best));
      this.open.add(largest);
      seen += this.items[largest].length - 1;
      closed = [...closed.filter((g) => g !== largest), ...(this.groups.kind[largest] === "loop" ? [] : inside(largest))];
    }
  }

  toggle(group: number): void {
    if (!this.open.delete(group)) this.open.add(group);
    this.open.add(0);
  }

  /** Open all that hides a node. */
  reveal(node: number): void {
    for (let g = this.groups.of[node]; g >= 0; g = this.groups.parent[g]) this.open.add(g);
  }

  /** The group that a thing is directly in. */
  home(item: number): number {
    return item < 0 ? this.groups.parent[~item] : this.groups.of[item];
  }

  /** What is seen of a node: the outermost closed group that has it, or the node itself. */
  seen(node: number): number {
    let found = node;
    for (let g = this.groups.of[node]; g > 0; g = this.groups.parent[g]) if (!this.open.has(g)) found = ~g;
    return found;
  }

  /** Whether a group is seen, open or closed. */
  shows(group: number): boolean {
    for (let g = this.groups.parent[group]; g >= 0; g = this.groups.parent[g]) if (!this.open.has(g)) return false;
    return true;
  }

  /** Some node of a group, the last. */
  sample(group: number): number {
    let item = ~group;
    while (item < 0) item = this.items[~item].at(-1)!;
    return item;
  }

  /** All nodes in a group. */
  members(group: number): number[] {
    const found: number[] = [];
    const stack = [~group];
    while (stack.length) {
      const item = stack.pop()!;
      if (item >= 0) found.push(item);
      else for (const inner of [...this.items[~item]].reverse()) stack.push(inner);
    }
    return found;
  }

  /** The open groups as a link names them; those inside a closed one do not count. */
  get link(): string {
    return [...this.open].filter((g) => g > 0 && this.shows(g)).sort((a, b) => a - b).join(".");
  }

  set link(text: string) {
    const named = text.split(".").map(Number).filter((g) => g > 0 && g < this.items.length);
    this.open = new Set([0, ...named]);
    for (const g of named) for (let above = this.groups.parent[g]; above >= 0; above = this.groups.parent[above]) this.open.add(above);
  }
}
