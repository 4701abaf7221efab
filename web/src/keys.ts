// The keyboard: time with the arrows left and right, nodes with those up and down.

import { byId } from "./dom";
import { alive } from "./lifetime";
import type { Page } from "./main";
import { savePng, saveSvg } from "./save";
import type { TimeBar } from "./timebar";

export function keys(page: Page, time: TimeBar): void {
  const nodes = page.state.scene.views.node.model.nodes.label.length;
  const next = (by: number) => {
    const { chosen, selected, view } = page.state;
    const walk = view.folds?.walk;
    if (!walk) return page.select((selected + by + nodes) % nodes);
    const at = walk.indexOf(chosen >= 0 ? ~chosen : selected >= 0 ? page.state.scene.tree.seen(selected) : NaN);
    page.choose(walk[(at + by + walk.length) % walk.length]);
  };
  const zoom = (factor: number) => { page.camera.zoom(factor); page.draw(); };
  const actions: Record<string, () => void> = {
    ArrowRight: () => time.step(1),
    ArrowLeft: () => time.step(-1),
    ArrowDown: () => next(1),
    ArrowUp: () => next(page.state.selected < 0 && page.state.chosen < 0 ? 0 : -1),
    Enter: () => page.turn(),
    e: () => page.turn(),
    Backspace: () => page.leave(),
    "[": () => page.nextIteration(-1),
    "]": () => page.nextIteration(1),
    " ": () => time.play(),
    Home: () => time.to(0),
    End: () => time.to(Infinity),
    Escape: () => { page.state.search = byId<HTMLInputElement>("search").value = ""; page.select(-1); },
    "/": () => byId("search").focus(),
    "+": () => zoom(1.3),
    "=": () => zoom(1.3),
    "-": () => zoom(1 / 1.3),
    "0": () => page.fit(),
    c: () => page.fold("code"),
    w: () => page.fold("why"),
    v: () => { if (!page.state.comparing) saveSvg(page.shown()); },
    p: () => { if (!page.state.comparing) savePng(page.shown()); },
    t: () => page.table.toggle(),
    s: () => { page.state.compare(!page.state.comparing); page.changed(); },
  };
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
    const field = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
    if (field && target.id !== "scrub" && event.key !== "Escape") return;
    const pressed = target instanceof HTMLButtonElement || target.role === "button" || target.tagName === "SUMMARY";
    if ((event.key === " " || event.key === "Enter") && pressed) return;
    event.preventDefault();
    actions[event.key]();
  }, { signal: alive() });
}
