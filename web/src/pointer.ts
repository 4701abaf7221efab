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
    if (moved <= CLICK && !overview(page, event)) page.pick(...inside(event));
  });
  canvas.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => { byId("tip").hidden = true; page.actions.point(-1); });
  canvas.addEventListener("dblclick", (event) => {
    if (page.state.view.group && page.nodeAt(...inside(event)) >= 0) page.relevel("node");
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
  const v = page.nodeAt(...inside(event));
  const tip = byId("tip");
  (event.target as HTMLElement).classList.toggle("over", v >= 0);
  if (v !== page.state.hovered) page.actions.point(v);
  tip.hidden = v < 0 || event.pointerType === "touch";
  if (tip.hidden) return;
  const { nodes, lines } = page.state.nodes.model;
  const line = nodes.line[v];
  tip.textContent = [
    `${nodes.label[v]}${nodes.call[v] ? ` = ${nodes.call[v]}` : ""}`,
    `${nodes.dtype[v]} ${nodes.shape[v]}`.trim(),
    line >= 0 ? `${lines.file[line]}:${lines.number[line]}` : "",
  ].filter(Boolean).map(pretty).join(" · ");
  const box = byId("stage").getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX - box.x + 14, Math.max(box.width - tip.offsetWidth - 8, 0))}px`;
  tip.style.top = `${event.clientY - box.y + 18}px`;
}
