// The frames around what is in open groups: drawn behind everything, with the name on top.

import { TITLE, type Panel } from "./folded";
import type { Camera } from "./camera";
import { LETTER } from "./chips";
import { FONT, type Frame } from "./draw";
import type { View } from "./model";
import type { Pen } from "./pen";
import type { Colours } from "./theme";

export function drawPanels(context: Pen, view: View, name: (group: number) => string, camera: Camera, colours: Colours, { chosen, shown }: Frame, readable: boolean): void {
  for (const { group, x, y, wide, high } of view.folds?.panels ?? []) {
    if (!camera.sees(x, y, x + wide, y + high)) continue;
    context.beginPath();
    context.roundRect(x, y, wide, high, 9);
    context.fillStyle = colours.gate;
    context.globalAlpha = 0.45 * shown;
    context.fill();
    context.globalAlpha = (chosen === group ? 1 : 0.75) * shown;
    context.strokeStyle = chosen === group ? colours.select : colours.wire;
    context.lineWidth = chosen === group ? 2 : 1;
    context.stroke();
    context.globalAlpha = shown;
    if (!readable) continue;
    const room = Math.max(Math.floor((wide - 16) / LETTER), 3);
    const text = `▾ ${name(group)}`;
    context.font = `12px ${FONT}`;
    context.fillStyle = colours.dim;
    context.textAlign = "left";
    context.fillText(text.length > room ? `${text.slice(0, room - 1)}…` : text, x + 9, y + 16);
  }
  context.globalAlpha = 1;
}

/** The innermost frame whose name is at a point, or -1. */
export function panelAt(view: View, x: number, y: number): number {
  const hit = (panel: Panel) => x >= panel.x && x <= panel.x + panel.wide && y >= panel.y - 3 && y <= panel.y + TITLE;
  return view.folds?.panels.findLast(hit)?.group ?? -1;
}
