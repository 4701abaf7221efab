// The mouse and fingers on the picture: pan, zoom, point, select.

import { byId } from "./dom";
import type { Page } from "./main";
import { pretty } from "./numbers";
import { cornerOf } from "./overview";

const CLICK = 4; // pixels a click may move

export function pointer(page: Page, canvas = page.canvas): void {
  const { camera } = page;
  const down = new Map<number, { x: number; y: number }>();
  let moved = 0;

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const last = down.get(event.pointerId);
    if (!last) {
      hover(page, event);
      return;
    }
    const others = [...down].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    const box = canvas.getBoundingClientRect();
    if (others.length) { // two fingers
      const before = Math.hypot(last.x - others[0].x, last.y - others[0].y);
      const after = Math.hypot(event.clientX - others[0].x, event.clientY - others[0].y);
      if (before > 0) camera.zoom(after / before, others[0].x - box.x, others[0].y - box.y);
    } else camera.pan(event.clientX - last.x, event.clientY - last.y);
    moved += Math.abs(event.clientX - last.x) + Math.abs(event.clientY - last.y);
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
    page.draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    down.delete(event.pointerId);
    if (moved <= CLICK && !overview(page, event)) click(page, event);
  });
  canvas.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => { byId("tip").hidden = true; page.actions.point(-1); });
  canvas.addEventListener("dblclick", (event) => {
    const item = page.itemAt(...inside(event));
    if (item !== null && item >= 0) page.openLoop(item);
    if (item !== null && item < 0 && !page.opening.onTriangle(...inside(event), ~item)) page.opening.toggle(~item);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    camera.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.x, event.clientY - box.y);
    page.draw();
  }, { passive: false });
}

/** The place of an event on its canvas. */
function inside(event: MouseEvent): [number, number] {
  const box = (event.target as HTMLElement).getBoundingClientRect();
  return [event.clientX - box.x, event.clientY - box.y];
}

/** A click selects; one on the triangle of a group opens or closes it. */
function click(page: Page, event: MouseEvent): void {
  const at = inside(event);
  const item = page.itemAt(...at);
  if (item === null) page.select(-1);
  else if (item >= 0) page.pick(item, ...at);
  else if (page.opening.onTriangle(...at, ~item)) page.opening.toggle(~item);
  else page.choose(item);
}

/** A click on the overview goes there. */
function overview(page: Page, event: MouseEvent): boolean {
  const corner = page.state.comparing ? null : cornerOf(page.state.view, page.camera);
  const box = page.canvas.getBoundingClientRect();
  const x = event.clientX - box.x - (corner?.x ?? 0);
  const y = event.clientY - box.y - (corner?.y ?? 0);
  if (!corner || x < -6 || y < -6) return false;
  page.camera.centre(x / corner.scale, y / corner.scale);
  page.draw();
  return true;
}

/** Say what is under the pointer. */
function hover(page: Page, event: PointerEvent): void {
  const item = page.itemAt(...inside(event));
  const tip = byId("tip");
  const v = item ?? -1;
  (event.target as HTMLElement).classList.toggle("over", item !== null);
  const { tree } = page.state.scene;
  const pointed = v >= 0 || item === null ? v : tree.open.has(~v) ? -1 : tree.sample(~v);
  if (pointed !== page.state.hovered) page.actions.point(pointed);
  tip.hidden = item === null || event.pointerType === "touch";
  if (tip.hidden) return;
  tip.textContent = (v < 0 ? groupTip(page, ~v) : nodeTip(page, v)).filter(Boolean).map(pretty).join(" · ");
  const box = byId("stage").getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX - box.x + 14, Math.max(box.width - tip.offsetWidth - 8, 0))}px`;
  tip.style.top = `${event.clientY - box.y + 18}px`;
}

function nodeTip(page: Page, v: number): string[] {
  const { nodes, lines } = page.state.nodes.model;
  const line = nodes.line[v];
  return [
    `${nodes.label[v]}${nodes.call[v] ? ` = ${nodes.call[v]}` : ""}`,
    `${nodes.dtype[v]} ${nodes.shape[v]}`.trim(),
    line >= 0 ? `${lines.file[line]}:${lines.number[line]}` : "",
    page.state.scene.loops[v] ? "double-click opens it" : "",
  ];
}

function groupTip(page: Page, group: number): string[] {
  const { groups, count, open } = page.state.scene.tree;
  return [groups.name[group], `${count[group].toLocaleString("en")} nodes`, open.has(group) ? "double-click closes it" : "double-click opens it"];
}
