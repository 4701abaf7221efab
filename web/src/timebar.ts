// The bar at the bottom: play, step, scrub; the sort, the forward and the backward pass.

import { button, byId } from "./dom";
import { alive } from "./lifetime";
import type { State } from "./state";
import { ORDERS, PHASES } from "./timeline";

const BEAT = 900; // milliseconds a step is shown while it plays
const LONGEST = 60_000; // milliseconds a play through all of it takes, at the most
const OPENING = 5_000; // milliseconds in which a page that has just opened plays both passes
const BLINK = 40; // milliseconds, below which a step is not seen

export class TimeBar {
  private timer = 0;
  private readonly scrub = byId<HTMLInputElement>("scrub");

  constructor(private readonly state: State, private readonly changed: (moved: boolean) => void) {
    const press = (id: string, action: () => void) => byId(id).addEventListener("click", action);
    press("first", () => this.to(0));
    press("back", () => this.step(-1));
    press("play", () => this.play());
    press("next", () => this.step(1));
    press("last", () => this.to(Infinity));
    this.scrub.addEventListener("input", () => this.to(Number(this.scrub.value)));
    const orders = byId<HTMLSelectElement>("order");
    for (const [order, text] of Object.entries(ORDERS)) {
      const option = new Option(text, order);
      option.disabled = state.refused(order) !== "";
      option.title = state.refused(order);
      orders.append(option);
    }
    orders.append(new Option("side by side", "beside"));
    orders.addEventListener("change", () => {
      state.compare(orders.value === "beside");
      if (!state.comparing) state.reorder(orders.value);
      this.changed(false);
    });
    byId("time").hidden = !state.track;
    alive().addEventListener("abort", () => this.stop());
  }

  /** One step on or back; a step on is seen to move. */
  step(by: number): void {
    this.stop();
    this.state.go(this.state.moment + by);
    this.changed(by > 0);
  }

  to(moment: number): void {
    this.stop();
    this.state.go(moment);
    this.changed(false);
  }

  play(): void {
    if (this.timer) {
      this.stop();
      this.changed(false);
      return;
    }
    const { track } = this.state;
    if (!track) return;
    if (this.state.moment >= track.length) this.state.go(0);
    const beat = Math.max(Math.min(BEAT, LONGEST / track.length), 30);
    this.timer = window.setInterval(() => {
      this.state.go(this.state.moment + 1);
      if (this.state.moment >= track.length) this.stop();
      this.changed(true);
    }, beat);
    this.changed(false);
  }

  /** Play both passes quickly, as a page that has just opened does; many steps are taken together. */
  introduce(): void {
    const { track } = this.state;
    if (!track) return;
    const first = track.start("forward");
    const steps = track.length - first;
    const beat = Math.min(Math.max(OPENING / Math.max(steps, 1), BLINK), BEAT / 2);
    const stride = Math.ceil((steps * beat) / OPENING);
    this.state.go(first);
    this.state.introducing = true;
    this.timer = window.setInterval(() => {
      this.state.go(this.state.moment + stride);
      if (this.state.moment >= track.length) this.stop();
      this.changed(stride === 1);
    }, beat);
    this.changed(false);
  }

  /** The moment that a link names: #step=7, #sort=3, and &order=recursive; #compare&step=9. */
  follow(hash: string): boolean {
    const asked = new URLSearchParams(hash.slice(1));
    const order = asked.get("order");
    if (!this.state.track) return false;
    this.state.compare(asked.has("compare"));
    if (order && order in ORDERS && !this.state.refused(order) && !this.state.comparing) this.state.reorder(order);
    const step = Number(asked.get("step") ?? NaN);
    const sort = Number(asked.get("sort") ?? NaN);
    if (Number.isInteger(step)) this.state.go(this.state.track.ofStep(step));
    else if (Number.isInteger(sort)) this.state.go(Math.min(sort, this.state.track.start("forward")));
    else return this.state.comparing;
    return true;
  }

  show(): void {
    const { track, moment, order, comparing, link } = this.state;
    const linked = location.protocol !== "about:"; // a page in a notebook's frame has no address of its own
    if (!track) {
      if (linked && link !== location.hash.slice(1) && (link || /in=|open=|level=/.test(location.hash))) history.replaceState(null, "", `#${link}`);
      return;
    }
    const playing = this.timer !== 0;
    byId("play").textContent = playing ? "❚❚" : "▶";
    byId("play").setAttribute("aria-label", playing ? "Pause" : "Play");
    this.scrub.max = String(track.length);
    this.scrub.value = String(moment);
    byId<HTMLSelectElement>("order").value = comparing ? "beside" : order;
    const sorted = track.start("forward");
    const step = track.stepAt(moment);
    const total = track.length - sorted;
    const said = step > 0 || !sorted ? `step ${Math.max(step, 0)} of ${total}` : `sort ${moment} of ${sorted}`;
    byId("step").textContent = said;
    this.scrub.setAttribute("aria-valuetext", said);
    this.phases();
    const place = comparing ? `compare&step=${step}` : step > 0 ? `step=${step}` : `sort=${moment}`;
    const where = `#${[place, !comparing && order !== "sorted" && `order=${order}`, link].filter(Boolean).join("&")}`;
    if (linked && !playing && location.hash !== where && (location.hash || link || moment < track.length)) history.replaceState(null, "", where);
  }

  private phases(): void {
    const track = this.state.track!;
    const starts = PHASES.map((phase) => track.start(phase));
    const parts = PHASES.map((phase, k) => {
      const end = starts[k + 1] ?? track.length;
      const part = button(phase, phase, () => this.to(starts[k] + 1));
      part.style.flexGrow = String(end - starts[k]);
      part.hidden = end === starts[k];
      part.classList.toggle("now", this.state.moment > starts[k] && this.state.moment <= end);
      return part;
    });
    byId("phases").replaceChildren(...parts);
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = 0;
    this.state.introducing = false;
  }
}
