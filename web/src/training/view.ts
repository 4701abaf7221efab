// What is seen of a training run: numbers, three signs of health, curves, layers, the graph.

import { h } from "../dom";
import { real, type Real } from "../model";
import { general, pretty } from "../numbers";
import { chart, spansDecades, type Line } from "./chart";
import type { Activation, Layer, Sign, Training } from "./data";

const MARKS = ["✓", "!", "✗"];
const LEVELS = ["usual", "look", "sick"];
const STATES = { waiting: "has not begun", running: "running", finished: "finished", interrupted: "interrupted", failed: "failed" };
const WIDEST = 640; // pixels of a curve
const GAP = 10; // between tiles, and how narrow they can be: as the style sheet has it
const NARROWEST = 175;

export class View {
  private readonly parts: Record<string, HTMLElement>;
  private readonly picture = h("img");
  private shown: Training | null = null;
  private said = "";

  constructor(root: ParentNode, heading: "h1" | "h2") {
    this.parts = {
      name: h(heading),
      state: h("span", "state"),
      about: h("span", "dim"),
      done: h("progress"),
      numbers: section("numbers", "Numbers"),
      signs: section("signs", "Signs of health"),
      findings: h("ul", "findings"),
      curves: section("curves", "Curves"),
      layers: scroll("Layers"),
      activations: scroll("Activations"),
      report: h("pre", "report"),
      graph: scroll("Graph"),
      spoken: h("p", "unseen"),
    };
    const { name, state, about, done, layers, activations, graph, spoken, ...rest } = this.parts;
    spoken.setAttribute("role", "status");
    done.setAttribute("aria-label", "Steps done");
    graph.append(this.picture);
    root.append(h("div", "run", h("header", "", name, state, about, done), rest.numbers, rest.signs, rest.findings,
      rest.curves, h("div", "tables", layers, activations), rest.report, graph, spoken));
  }

  show(data: Training, picture: string, dark: boolean): void {
    this.shown = data;
    const { parts } = this;
    parts.name.textContent = data.name || "training";
    parts.state.textContent = STATES[data.state];
    parts.state.className = `state ${data.state}`;
    parts.about.textContent = about(data);
    const done = parts.done as HTMLProgressElement;
    done.hidden = data.steps === null || data.state !== "running";
    done.max = data.steps || 1;
    done.value = data.step;
    parts.numbers.replaceChildren(...numbers(data));
    const kind = data.state === "failed" ? "" : "note";
    parts.findings.replaceChildren(...data.findings.map((text) => h("li", "", text)), ...data.notes.map((text) => h("li", kind, text)));
    parts.layers.replaceChildren(...table("layers, from the data to the loss", LAYERS, data.layers, (layer) => layerCells(layer, data.looks)));
    parts.activations.replaceChildren(...table("activations", ACTIVATIONS, data.activations, activationCells));
    parts.report.hidden = !data.report;
    parts.report.textContent = data.report;
    this.draw();
    this.paint(picture, dark, data);
    this.say(data);
  }

  /** What depends on how much room there is. */
  draw(): void {
    const data = this.shown;
    if (!data) return;
    const room = Math.max(this.parts.numbers.clientWidth, 240);
    const columns = Math.min(Math.max(Math.floor((room + GAP) / (NARROWEST + GAP)), 1), data.signs.length);
    const inside = (room - GAP * (columns - 1)) / columns - 29; // the padding and border of a tile
    this.parts.signs.replaceChildren(...data.signs.map((sign) => tile(sign, data.looks, inside)));
    this.parts.curves.replaceChildren(...curves(data, room));
  }

  private paint(picture: string, dark: boolean, data: Training): void {
    this.parts.graph.hidden = !picture;
    if (!picture) return;
    // As the reader has it here, whatever the system is.
    const text = picture.replace("(prefers-color-scheme: dark)", dark ? "all" : "not all");
    const source = `data:image/svg+xml,${encodeURIComponent(text)}`;
    if (this.picture.src !== source) this.picture.src = source;
    this.picture.alt = `The graph of ${data.name} with its values and adjoints at step ${data.looks.at(-1) ?? 0}`;
  }

  /** To those who do not see it: once an epoch, and when something is wrong. */
  private say(data: Training): void {
    const [last] = numberTexts(data);
    const text = `${STATES[data.state]}, epoch ${data.epoch}${last ? `, ${last.name} ${last.text}` : ""}. ${data.findings.join(". ")}`;
    const key = `${data.state} ${data.epoch} ${data.findings.join()}`;
    if (key !== this.said) this.parts.spoken.textContent = text;
    this.said = key;
  }
}

function section(kind: string, label: string): HTMLElement {
  const made = h("section", kind);
  made.setAttribute("aria-label", label);
  return made;
}

/** A part that may be wider than the page; it can be reached with the keyboard. */
function scroll(label: string): HTMLElement {
  const made = section(`scroll ${label.toLowerCase()}`, label);
  made.tabIndex = 0;
  return made;
}

export function brief(value: Real, digits = 3): string {
  return value === null ? "–" : pretty(general(real(value), digits));
}

function about(data: Training): string {
  const whole = (value: number) => Math.round(value).toLocaleString("en");
  const minutes = Math.floor(data.seconds / 60);
  const time = minutes ? `${minutes}:${String(Math.floor(data.seconds % 60)).padStart(2, "0")} min` : `${data.seconds.toFixed(1)} s`;
  const epoch = data.state === "running" ? Math.min(data.epoch + 1, data.epochs) : data.epoch;
  const parts = [`epoch ${epoch} of ${data.epochs}`, `step ${whole(data.step)}`, data.rate && `${whole(data.rate)} examples/s`, time];
  return data.state === "waiting" ? "" : parts.filter(Boolean).join(" · ");
}

// -- numbers ------------------------------------------------------------------------------------

interface Said { name: string; text: string; note: string }

/** The loss of the last stretch, and of each measurement the last and the best. */
function numberTexts(data: Training): Said[] {
  const { columns } = data.measured;
  const said: Said[] = [];
  if (data.loss.at.length) said.push({ name: "loss", text: brief(data.loss.mean.at(-1)!, 4), note: data.trend });
  for (const [name, values] of Object.entries(columns)) {
    if (name === "loss") continue;
    const known = values.map(real);
    const lowest = known.indexOf(Math.min(...known.filter(Number.isFinite)));
    const note = name === "validation" && lowest >= 0 ? (lowest === known.length - 1 ? "the lowest" : `lowest ${brief(values[lowest], 4)} in epoch ${lowest + 1}`) : "";
    said.push({ name, text: brief(values.at(-1)!, 4), note });
  }
  return said;
}

function numbers(data: Training): HTMLElement[] {
  return numberTexts(data).map(({ name, text, note }) => h("p", "number", h("span", "dim", name), h("strong", "", text), h("span", "note", note)));
}

// -- signs --------------------------------------------------------------------------------------

function tile(sign: Sign, looks: number[], width: number): HTMLElement {
  const percent = !sign.log;
  const text = sign.value === null ? "–" : percent ? `${Math.round(100 * real(sign.value))} %` : brief(sign.value, 2);
  const history = chart([{ at: looks, values: sign.history.map(real), kind: LEVELS[sign.level] }], {
    width: Math.max(width, 120), height: 46, log: sign.log, band: sign.band,
    label: `${sign.name} over the steps, now ${text}; usual is ${general(sign.band[0])} to ${general(sign.band[1])}`,
  });
  return h("div", `tile ${LEVELS[sign.level]}`, h("p", "title", sign.name),
    h("p", "", h("strong", "", text), h("span", "verdict", `${MARKS[sign.level]} ${sign.verdict}`)),
    history, h("p", "dim where", sign.where));
}

// -- curves -------------------------------------------------------------------------------------

function curves(data: Training, room: number): HTMLElement[] {
  const { at, columns } = data.measured;
  const others = Object.keys(columns).filter((name) => name !== "loss" && name !== "validation");
  const loss: Line[] = [];
  if (data.loss.at.length) loss.push({ at: data.loss.at, values: data.loss.mean.map(real), low: data.loss.low.map(real), high: data.loss.high.map(real), kind: "training" });
  else if (columns.loss) loss.push({ at, values: columns.loss.map(real), kind: "training" });
  if (columns.validation) loss.push({ at, values: columns.validation.map(real), kind: "validation", dots: true });
  if (!loss.length) return [];
  const beside = others.length > 0 && room >= 640;
  const width = Math.min(beside ? (room - 24) / 2 : room, beside ? WIDEST : 900);
  const log = spansDecades(loss.flatMap((line) => line.values));
  const key = columns.validation ? [h("span", "key training", "training"), h("span", "key validation", "validation")] : [];
  return [
    figure("loss over the steps", key, loss, width, log),
    ...others.map((name) => figure(name, [], [{ at, values: columns[name].map(real), kind: "metric", dots: true }], width, false)),
  ];
}

function figure(title: string, key: HTMLElement[], lines: Line[], width: number, log: boolean): HTMLElement {
  const ends = lines.map((line) => `${line.kind} from ${general(line.values[0] ?? NaN, 3)} to ${general(line.values.at(-1) ?? NaN, 3)}`);
  const caption = h("figcaption", "", h("span", "", title + (log ? ", logarithmic" : "")), ...key);
  return h("figure", "", caption, chart(lines, { width, height: 190, log, scale: true, label: `${title}: ${ends.join("; ")}` }));
}

// -- tables -------------------------------------------------------------------------------------

const LAYERS = ["layer", "parameters", "gradient", "", "update / parameter", ""];
const ACTIVATIONS = ["activation", "units", "dead", "saturated"];

function table<T>(caption: string, head: string[], rows: T[], cells: (row: T) => HTMLElement[]): HTMLElement[] {
  if (!rows.length) return [];
  const names = head.map((name) => {
    const cell = h(name ? "th" : "td", "", name);
    if (name) cell.scope = "col";
    return cell;
  });
  return [h("table", "", h("caption", "", caption), h("thead", "", h("tr", "", ...names)), h("tbody", "", ...rows.map((row) => h("tr", "", ...cells(row)))))];
}

function layerCells(layer: Layer, looks: number[]): HTMLElement[] {
  const name = h("th", "", layer.name, layer.status !== "value" && h("span", "wrong", ` ${layer.status}`));
  name.scope = "row";
  const spark = (values: Real[], what: string) => {
    const known = values.map(real);
    return h("td", "spark", chart([{ at: looks, values: known, kind: "gradient" }], { width: 84, height: 22, log: known.some((v) => v > 0), label: `${what} of ${layer.name} over the steps` }));
  };
  return [name, h("td", "dim", layer.count.toLocaleString("en")),
    h("td", "", brief(layer.gradient.at(-1)!)), spark(layer.gradient, "gradient"),
    h("td", "", brief(layer.update.at(-1)!)), spark(layer.update, "update")];
}

/** Of what a loop makes many times, the worst. */
function activationCells(each: Activation): HTMLElement[] {
  const times = each.times > 1 ? `, the worst of ${each.times}` : "";
  const name = h("th", "", each.op, h("span", "dim", ` ${each.place}${times}`), h("code", "", each.text));
  name.scope = "row";
  return [name, h("td", "dim", each.units.toLocaleString("en")), share(each.dead / each.units, String(each.dead)), share(each.saturated, `${Math.round(100 * each.saturated)} %`)];
}

/** A number with a bar below it, as long as it is large. */
function share(part: number, text: string): HTMLElement {
  const bar = h("i");
  bar.style.width = `${Math.round(100 * part)}%`;
  return h("td", part > 0.5 ? "wrong" : "", text, h("span", "bar", bar));
}
