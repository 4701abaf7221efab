// What if: a leaf's numbers in fields and a table, to be changed one at a time.

import { button, h } from "./dom";
import { strides, type Nd } from "./nd";
import { general, pretty } from "./numbers";
import type { State } from "./state";
import type { Actions } from "./why";

const CELLS = 512; // entries of a table at a time
const ROW = 8; // entries of a vector beside each other
const NUDGE = 100; // steps from the middle of the slider to its end

/** The index of an entry in brackets: "[1, 3]"; "" of a single number. */
export function placeOf(shape: number[], entry: number): string {
  if (!shape.length) return "";
  const steps = strides(shape);
  return `[${shape.map((n, k) => Math.floor(entry / steps[k]) % n).join(", ")}]`;
}

/** A leaf whose value can be changed. */
export function whatIf(state: State, v: number, actions: Actions): HTMLElement | null {
  const { nodes, stage } = state.scene.views.node.model;
  if (nodes.op[v] || stage !== "backward") return null;
  if (state.whyNot) return h("p", "dim", `What if: not here; ${state.whyNot}.`);
  if (nodes.dtype[v] !== "float64") return h("p", "dim", "What if: whole numbers stay as they are.");
  const array = state.valueOf(v);
  if (!array.data.length) return null;
  const entry = Math.min(state.entry, array.data.length - 1);
  const name = `${nodes.label[v]}${placeOf(array.shape, entry)}`;
  const fields = numberFields(name, array.data[entry], state.given(v).data[entry], (value) => actions.assume(v, entry, value));
  const cells = array.shape.length > 0 && table(array, entry, nodes.label[v], actions);
  return h("div", "what-if", cells, ...fields, state.leaves.size > 0 && button("as it was", "", actions.forget));
}

/** A field to type a number into, in which the arrows nudge it, and a slider around what it was. */
function numberFields(name: string, now: number, original: number, assume: (value: number) => void): HTMLElement[] {
  const reach = Math.max(2 * Math.abs(original), 2) || 2;
  const field = h("input");
  const slider = h("input");
  Object.assign(field, { type: "text", inputMode: "decimal", autocomplete: "off", value: String(now), id: "what-if" });
  Object.assign(slider, { type: "range", min: String(original - reach), max: String(original + reach), step: String(reach / 200), value: String(now), id: "what-if-slider" });
  slider.setAttribute("aria-label", `value of ${name}`);
  for (const input of [field, slider]) input.addEventListener("input", () => {
    const value = Number(input.value);
    if (input.value !== "" && Number.isFinite(value)) assume(Number(value.toPrecision(12)));
  });
  field.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const value = Number(field.value) + (by * (event.shiftKey ? 10 : 1) * reach) / NUDGE;
    field.value = String(Number(value.toPrecision(12)));
    assume(Number(field.value));
  });
  return [h("label", "", `what if ${name} = `, field), slider];
}

/** The entries as a table of which one is chosen: with the mouse, or with the arrows, and typed over. */
function table(array: Nd, entry: number, label: string, actions: Actions): HTMLElement {
  const columns = array.shape.length > 1 ? array.shape.at(-1)! : Math.min(array.data.length, ROW);
  const rows = Math.ceil(array.data.length / columns);
  const some = Math.min(Math.max(Math.floor(CELLS / columns), 1), rows); // around the entry
  const first = Math.min(Math.max(Math.floor(entry / columns) - Math.floor(some / 2), 0), rows - some);
  const largest = array.data.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0) || 1;
  const body = h("tbody");
  for (let start = first * columns; start < Math.min((first + some) * columns, array.data.length); start += columns) {
    body.append(h("tr", "", ...Array.from(array.data.subarray(start, start + columns), (value, k) => {
      const at = start + k;
      const cell = button(pretty(general(value, 4)), "cell", () => actions.enter(at));
      cell.id = `what-if-cell-${at}`;
      cell.tabIndex = at === entry ? 0 : -1;
      cell.setAttribute("aria-label", `${label}${placeOf(array.shape, at)}: ${general(value)}`);
      cell.setAttribute("aria-pressed", String(at === entry));
      const made = h("td", "", cell);
      made.style.setProperty("--size", String(Math.round(32 * Math.abs(value / largest) || 0)));
      return made;
    })));
  }
  const made = h("table", "", body);
  made.addEventListener("keydown", (event) => {
    const page = some * columns;
    const by: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -page, PageDown: page };
    if (event.key in by) {
      event.preventDefault();
      event.stopPropagation();
      const to = entry + by[event.key];
      if (to >= 0 && to < array.data.length) actions.enter(to);
    } else if (/^[-.\d]$/.test(event.key)) {
      event.stopPropagation(); // it is no key of the page, but the first letter of a number
      const field = document.getElementById("what-if") as HTMLInputElement;
      field.focus();
      field.select();
    }
  });
  const rest = some < rows && h("p", "dim", `rows ${first + 1} to ${first + some} of ${rows.toLocaleString("en")}; arrows and Page Down go on`);
  return h("div", "array value", h("div", "scroll", made), rest);
}
