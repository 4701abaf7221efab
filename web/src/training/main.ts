// The two hosts of the view of a training run: a widget in a notebook, and a page of its own.

import { h } from "../dom";
import type { Training } from "./data";
import style from "./style.css?inline";
import { View } from "./view";

interface Traits { data: Training; picture: string }
interface Model {
  get<K extends keyof Traits>(name: K): Traits[K];
  on(event: string, heard: () => void): void;
  off(event: string, heard: () => void): void;
}

/** What anywidget calls: show the model in the element, now and whenever it changes. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const host = h("div");
  el.append(host);
  const root = host.attachShadow({ mode: "open" }); // the notebook's style stays outside, and ours inside
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets = [sheet];
  const view = new View(root, el.localName === "main" ? "h1" : "h2");
  const draw = () => {
    if (!model.get("data").state) return;
    const dark = isDark(el);
    host.dataset.theme = dark ? "dark" : "light";
    view.show(model.get("data"), model.get("picture"), dark);
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  let width = 0;
  const sizes = new ResizeObserver(() => {
    if (host.clientWidth !== width) requestAnimationFrame(draw);
    width = host.clientWidth;
  });
  for (const name of ["data", "picture"]) model.on(`change:${name}`, draw);
  system.addEventListener("change", draw);
  sizes.observe(host);
  draw();
  return () => {
    for (const name of ["data", "picture"]) model.off(`change:${name}`, draw);
    system.removeEventListener("change", draw);
    sizes.disconnect();
  };
}

/** Whether what lies behind is dark; where nothing is painted, what the system says. */
function isDark(el: Element): boolean {
  for (let at: Element | null = el; at; at = at.parentElement ?? (at.getRootNode() as ShadowRoot).host ?? null) {
    const colour = getComputedStyle(at).backgroundColor;
    const [red, green, blue, alpha = 1] = (colour.match(/^rgba?\((.*)\)/)?.[1] ?? "0, 0, 0, 0").split(",").map(Number);
    if (alpha > 0.5) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

const page = document.getElementById("chainrule-training");
if (page) {
  const held: Traits = JSON.parse(document.getElementById("chainrule-data")!.textContent!);
  document.body.style.margin = "0";
  render({ model: { get: (name) => held[name], on: () => {}, off: () => {} }, el: page });
}

export default { render };
