// The page: it reads the scene, and everything a reader does changes the state and draws it again.

import "./style.css";
import { Beside } from "./beside";
import { Camera } from "./camera";
import { Code } from "./code";
import { byId } from "./dom";
import { Picture } from "./draw";
import { frameOf, hits, shownAs } from "./frame";
import { beside, insideBar, linkOf, sceneAt, trailOf, type Opened, type Trail } from "./inside";
import { keys } from "./keys";
import { alive, end } from "./lifetime";
import { FLAG, read, type Scene, type View } from "./model";
import { NodeTable } from "./nodetable";
import { Opening } from "./opening";
import { drawOverview } from "./overview";
import { panelAt } from "./panels";
import { pointer } from "./pointer";
import { printing } from "./print";
import { savePng, saveSvg, type Shown } from "./save";
import { spoken } from "./spoken";
import { State } from "./state";
import { colours, toggle } from "./theme";
import { TimeBar } from "./timebar";
import { nodeCard, nowCard, type Actions } from "./why";

const MOVE = 420; // milliseconds that a step takes to move
const MARGIN = 56; // pixels around the drawing
const LEGIBLE = 0.55; // of the scale, below which numbers cannot be read
const NARROW = 700; // pixels of a telephone
const BESIDE = 0.72; // of the height, for orders side by side
const MANY = 2_000; // nodes of a graph that does not play by itself when it opens
const UNREADABLE = 0.3; // below which a page does not open
const SIDES: Record<string, number> = { code: 270, why: 350 };
const LEVELS: Record<string, string> = { node: "every node", group: "in groups" };

class Page {
  readonly state: State;
  readonly camera = new Camera();
  readonly canvas = byId<HTMLCanvasElement>("graph");
  private readonly context = this.canvas.getContext("2d")!;
  readonly table = new NodeTable(this);
  readonly opening = new Opening(this);
  private readonly beside = new Beside(this);
  private readonly code: Code;
  private readonly time: TimeBar;
  private drawn: View;
  private picture: Picture;
  private later = 0;
  private started = -Infinity;
  private waiting = false;
  private told = ""; // the sentence of the step
  private all = 0; // the scale at which the reader sees all of it
  readonly actions: Actions = {
    select: (node) => this.select(node),
    point: (node) => { this.state.hovered = node; this.changed(false); },
    path: (index) => { this.state.path = index; this.changed(); },
    enter: (entry) => { this.state.entry = entry; this.changed(); document.getElementById(`what-if-cell-${entry}`)?.focus(); },
    assume: (leaf, entry, value) => { this.state.assume(leaf, entry, value); this.changed(); },
    forget: () => { this.state.forget(); this.changed(); },
    toggle: (group) => this.opening.toggle(group),
    open: (node) => this.openLoop(node),
  };

  /** A page of this scene; `around` is the one with the loop that it is inside of, which `trail` leads to. */
  constructor(scene: Scene, private readonly trail: Trail, readonly around: Scene | null) {
    const plain = !location.hash && !trail.length;
    const state = this.state = new State(scene, linkOf(trail));
    this.drawn = state.view;
    this.picture = this.pictureOf(this.drawn);
    this.code = new Code(byId("code"), state, (lines, hover) => {
      if (hover) state.lines = lines;
      else this.select(state.scene.views.node.model.nodes.line.findLastIndex((line) => lines.includes(line)));
      this.changed(false);
    });
    this.time = new TimeBar(state, (moved) => { if (moved) this.move(); if (!state.introducing) this.follow(); this.changed(); });
    if (innerWidth >= NARROW) state.fitInto(innerWidth);
    this.header();
    pointer(this);
    keys(this, this.time);
    const watching = new ResizeObserver(() => this.resize());
    watching.observe(byId("stage"));
    const signal = alive();
    signal.addEventListener("abort", () => watching.disconnect());
    addEventListener("resize", () => this.arrange(), { signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(), { signal });
    addEventListener("hashchange", () => {
      const opened = this.state.follow(location.hash);
      if (opened) this.fit();
      if (this.time.follow(location.hash) || opened) { this.follow(); this.changed(); }
    }, { signal });
    this.state.follow(location.hash);
    this.time.follow(location.hash);
    this.arrange();
    this.resize();
    this.changed();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (plain && !still && state.nodes.model.nodes.label.length <= MANY) this.time.introduce();
  }

  /** Show a node: its card, its line, its paths. */
  select(node: number): void {
    this.state.select(node);
    this.changed();
    if (node >= 0) this.say(this.describing(node));
  }

  /** Select a node at a point of the canvas, and the entry of an array that is pointed at. */
  pick(node: number, px: number, py: number): void {
    const entry = this.state.level === "node" ? this.picture.entryAt(node, ...this.camera.point(px, py)) : -1;
    this.select(node);
    if (entry >= 0) this.actions.enter(entry);
  }

  /** Say it to those who do not see the page. */
  say(text: string): void {
    if (byId("said").textContent !== text) byId("said").textContent = text;
  }

  /** Select a thing of the tree: a node, or a group, open or closed. */
  choose(item: number): void {
    if (item >= 0) this.select(item);
    else {
      this.state.choose(~item);
      this.changed();
    }
  }

  /** Go out of the loop that this is inside of. */
  leave(): void {
    if (this.around) enter(this.trail.slice(0, -1));
  }

  /** Open the loop that a node is, if it is one. */
  openLoop(node: number): boolean {
    const loop = this.state.scene.loops[node];
    if (loop) enter([...this.trail, { node, iteration: loop.kept[0] }]);
    return loop !== undefined;
  }

  /** What Enter and e do: open the loop that is selected, or open or close a group. */
  turn(): void {
    if (this.state.selected < 0 || !this.openLoop(this.state.selected)) this.opening.turn();
  }

  nextIteration(by: number): void {
    const to = this.around && beside(this.around, this.trail.at(-1)!, by);
    if (to) this.show(to);
  }

  private show(to: Opened | null): void {
    enter(to ? [...this.trail.slice(0, -1), to] : this.trail.slice(0, -1));
  }

  /** A drawing that is wide and low stands above the panels instead of between them. */
  private arrange(): void {
    const { width, height } = this.state.view.place;
    const main = document.querySelector("main")!;
    const shown = (id: string) => (byId(id).hidden ? 0 : SIDES[id]);
    if (this.state.comparing) {
      main.classList.toggle("wide", innerWidth > 900);
      byId("stage").style.height = innerWidth > 900 ? `${(shown("code") || shown("why") ? BESIDE : 1) * main.clientHeight}px` : "";
      return;
    }
    const high = main.clientHeight - MARGIN;
    const between = Math.min((innerWidth - shown("code") - shown("why") - MARGIN) / width, high / height);
    const above = Math.min((innerWidth - MARGIN) / width, (0.6 * high) / height);
    const wide = innerWidth > 900 && between < 1 && above > 1.2 * between;
    main.classList.toggle("wide", wide);
    const least = (above < LEGIBLE ? 0.6 : 0.42) * high;
    byId("stage").style.height = wide ? `${Math.max(Math.min(above, 1.6) * height + 2 * MARGIN, least)}px` : "";
  }

  /** Where a step happens is brought into view, close enough to be read. */
  private follow(): void {
    const { known, view } = this.state;
    if (!known || known.node < 0) return;
    const v = shownAs(this.state, known.node);
    const { x, y, wide, above, below } = view.place;
    const { camera } = this;
    const margin = 30 / camera.scale;
    const seen = x[v] - margin >= camera.x && x[v] + wide[v] + margin <= camera.x + camera.width / camera.scale
      && y[v] - above[v] >= camera.y && y[v] + below[v] <= camera.y + camera.height / camera.scale;
    if (seen && camera.scale >= LEGIBLE) return;
    camera.scale = Math.max(camera.scale, 0.9);
    camera.centre(x[v] + wide[v] / 2, y[v]);
    camera.hold(view.place.width, view.place.height);
  }

  fit(): void {
    this.camera.fit(this.state.view.place.width + 9, this.state.view.place.height);
    this.all = this.camera.scale;
    this.draw();
  }

  /** Bring a node into view. */
  jump(node: number): void {
    if (this.state.level === "group") {
      this.state.scene.tree.reveal(node);
      this.state.refold();
    }
    const { place } = this.state.view;
    const v = shownAs(this.state, node);
    this.camera.scale = Math.max(this.camera.scale, 1);
    this.camera.centre(place.x[v] + place.wide[v] / 2, place.y[v]);
    this.select(node);
  }

  /** The node or group (~group) at a point of the canvas, or null. */
  itemAt(px: number, py: number): number | null {
    const point = this.camera.point(px, py);
    const v = this.picture.at(...point);
    if (v >= 0) return this.state.view.folds?.items[v] ?? v;
    const panel = panelAt(this.state.view, ...point);
    return panel < 0 ? null : ~panel;
  }

  relevel(level: string): void {
    this.state.level = level;
    this.state.chosen = -1;
    this.arrange();
    this.resize();
    this.fit();
    this.changed();
  }

  /** What is on the screen now, to be drawn elsewhere. */
  shown(): Shown {
    const { scene, view, track, moment } = this.state;
    const { name } = scene.views.node.model;
    const step = byId("step").textContent!;
    const file = [name, track && moment < track.length ? step.split(" of ")[0] : ""].join(" ");
    const heading = scene.formula || name;
    return {
      picture: this.picture, place: view.place, camera: this.camera, frame: frameOf(this.state, 1), colours: colours(),
      file: file.replace(/[^\p{L}\p{N}_]+/gu, "-").replace(/^-|-$/g, "").slice(0, 80) || "graph",
      heading, title: track ? `${heading} · ${step}` : heading, description: this.described(),
    };
  }

  /** Everything is shown again; the panels too unless only the picture has changed. */
  changed(panels = true): void {
    if (this.beside.shown !== this.state.comparing) this.sideBySide();
    this.draw();
    this.code.mark();
    if (!panels) return;
    this.beside.update();
    this.table.show();
    const typing = document.activeElement?.id ?? "";
    const open = [...byId("node").querySelectorAll("details")].map((details) => details.open);
    byId("now").replaceChildren(nowCard(this.state, this.actions));
    if (!typing.startsWith("what-if")) byId("node").replaceChildren(nodeCard(this.state, this.actions));
    else this.refresh(typing);
    byId("node").querySelectorAll("details").forEach((details, k) => { details.open = open[k] ?? false; });
    byId<HTMLSelectElement>("level").value = this.state.level;
    byId("trouble").hidden = this.bad < 0;
    this.time.show();
    const said = spoken(this.state);
    if (said && said !== this.told) this.say(said);
    this.told = said;
    this.canvas.setAttribute("aria-label", this.described());
  }

  /** The card of a node whose number is being typed: all but the field itself is made anew. */
  private refresh(field: string): void {
    const old = byId<HTMLInputElement>(field);
    const { value, selectionStart } = old;
    byId("node").replaceChildren(nodeCard(this.state, this.actions));
    const made = byId<HTMLInputElement>(field);
    if (!made) return;
    if (field === "what-if-slider") {
      made.replaceWith(old); // it is being dragged
      old.focus();
      return;
    }
    made.value = value;
    made.focus();
    if (made.type === "text") made.setSelectionRange(selectionStart, selectionStart);
  }

  /** One picture or three: the camera sees all of the graph again. */
  private sideBySide(): void {
    this.beside.toggle();
    this.arrange();
    this.camera.width = 1; // to be fitted anew
    this.resize();
    if (innerWidth < NARROW) this.follow(); // all of it would be too small to read
  }

  private describing(v: number): string {
    const { nodes } = this.state.nodes.model;
    return `${nodes.label[v]} ${nodes.value[v]}${nodes.adjoint[v] ? `, adjoint ${nodes.adjoint[v]}` : ""}`;
  }

  private described(): string {
    const { nodes, leaves, outputs } = this.state.nodes.model;
    const said = (some: number[]) => some.map((v) => this.describing(v)).join("; ");
    const { folds } = this.state.view;
    const { groups, open } = this.state.scene.tree;
    const things = folds?.walk.slice(0, 30).map((item) => (item >= 0 ? nodes.label[item] : `${groups.name[~item]}, ${open.has(~item) ? "open" : "closed"} group`));
    return `${things ? `In groups: ${things.join("; ")}. ` : ""}Graph of ${nodes.label.length} nodes. Result ${said(outputs.slice(0, 8))}. Leaves ${said(leaves.slice(0, 20))}.`;
  }

  /** The first node that is not finite here, or -1. */
  private get bad(): number {
    return this.state.nodes.model.nodes.flags.findIndex((flags) => flags & (FLAG.value | FLAG.adjoint));
  }

  private move(): void {
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.started = performance.now();
  }

  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      this.waiting = false;
      if (this.drawn !== this.state.view) {
        this.drawn = this.state.view;
        this.picture = this.pictureOf(this.drawn);
      }
      const part = Math.min(Math.max((now - this.started) / MOVE, 0), 1);
      const palette = colours();
      let sliding = false;
      if (this.beside.shown) this.beside.draw(this.picture, part, devicePixelRatio, palette);
      else {
        const frame = frameOf(this.state, part);
        sliding = this.opening.slide(frame, now);
        this.picture.draw(this.context, this.camera, devicePixelRatio, palette, frame);
        drawOverview(this.context, this.state.view, this.camera, devicePixelRatio, palette);
      }
      if (part < 1 || sliding) this.draw();
    });
  }

  private pictureOf(view: View): Picture {
    const again = (after: number) => {
      clearTimeout(this.later);
      this.later = window.setTimeout(() => this.draw(), after);
    };
    return new Picture(view, again, (group) => this.state.scene.tree.groups.name[group]);
  }

  private resize(): void {
    const stage = byId("stage").getBoundingClientRect();
    const box = this.beside.shown ? this.beside.resize(stage.width, stage.height) : this.canvas.getBoundingClientRect();
    const first = this.camera.width <= 1;
    const [x, y] = this.camera.point(this.camera.width / 2, this.camera.height / 2);
    Object.assign(this.camera, { width: box.width, height: box.height });
    this.canvas.width = Math.round(box.width * devicePixelRatio);
    this.canvas.height = Math.round(box.height * devicePixelRatio);
    if (first || this.camera.scale === this.all) {
      this.fit();
      if (this.camera.scale < UNREADABLE) this.follow();
    } else this.camera.centre(x, y);
    this.draw();
  }

  private header(): void {
    const { model } = this.state.scene.views.node;
    const press = (id: string, action: () => void) => byId(id).addEventListener("click", action);
    const count = model.nodes.label.length;
    byId("name").textContent = this.state.scene.formula || model.name;
    byId("about").textContent = `${count.toLocaleString("en")} nodes · ${model.edges.parent.length.toLocaleString("en")} edges`;
    document.title = `${model.name} · chainrule`;
    const levels = byId<HTMLSelectElement>("level");
    for (const [level, text] of Object.entries(LEVELS)) levels.append(new Option(text, level));
    levels.addEventListener("change", () => this.relevel(levels.value));
    const search = byId<HTMLInputElement>("search");
    search.addEventListener("input", () => { this.state.search = search.value; this.changed(false); });
    search.addEventListener("keydown", (event) => { if (event.key === "Enter") this.firstHit(); });
    press("fit", () => this.fit());
    press("closer", () => { this.camera.zoom(1.3); this.draw(); });
    press("farther", () => { this.camera.zoom(1 / 1.3); this.draw(); });
    press("theme", () => { toggle(); this.draw(); });
    press("save-svg", () => saveSvg(this.shown()));
    press("save-png", () => savePng(this.shown()));
    printing(() => this.shown());
    for (const panel of ["code", "why"]) press(`show-${panel}`, () => this.fold(panel));
    byId("trouble").textContent = "not finite: jump";
    press("trouble", () => this.jump(this.bad));
    byId("legend").textContent = legend(this.state);
    if (this.around) byId("inside").append(...insideBar(this.around, this.trail.at(-1)!, (to) => this.show(to)).filter((part) => part instanceof Node));
    byId("inside").hidden = !this.around;
  }

  fold(panel: string): void {
    const hidden = byId(panel).toggleAttribute("hidden");
    byId(`show-${panel}`).setAttribute("aria-pressed", String(!hidden));
    this.arrange();
  }

  private firstHit(): void {
    const first = hits(this.state)?.[0];
    if (first !== undefined) this.jump(first);
  }
}

function legend(state: State): string {
  const { stage, arrays, edges } = state.scene.views.node.model;
  const said = ["above the line: value"];
  if (stage === "structure") return "leaves left, result right";
  if (stage === "backward") said.push("below: adjoint");
  if (edges.local.some((text) => text && !text.startsWith("["))) said.push("×: local derivative");
  if (Object.keys(arrays.value).length) said.push("squares: values, circles: adjoints, hollow: negative");
  if (edges.flow.includes(false)) said.push("dashed: no gradient flows");
  return said.join(" · ");
}

export type { Page };

const root = read(byId("scene").textContent!);
const parts = [...document.body.children].filter((part) => part.tagName !== "SCRIPT");
const blank = parts.map((part) => part.cloneNode(true) as Element);

/** Make the page anew for what a trail leads to. */
function enter(asked: Trail, byLink = false): void {
  const { scene, trail, around } = sceneAt(root, asked);
  end();
  for (const part of [...document.body.children]) if (part.tagName !== "SCRIPT") part.remove();
  document.body.prepend(...blank.map((part) => part.cloneNode(true)));
  const linked = location.protocol !== "about:"; // a page in a notebook's frame has no address of its own
  if (linked && !byLink) history.pushState(null, "", trail.length ? `#in=${linkOf(trail)}` : "#");
  inside = linkOf(trail);
  new Page(scene, trail, around);
}

let inside = linkOf(trailOf(location.hash));
addEventListener("hashchange", () => { if (linkOf(trailOf(location.hash)) !== inside) enter(trailOf(location.hash), true); });
if (inside) enter(trailOf(location.hash), true);
else new Page(root, [], null);
