// The page on paper: light, without controls, and the picture drawn as lines instead of dots.

import { byId } from "./dom";
import { alive } from "./lifetime";
import { svgOf, type Shown } from "./save";

export function printing(shown: () => Shown): void {
  const { dataset } = document.documentElement;
  let theme: string | undefined;
  addEventListener("beforeprint", () => {
    theme = dataset.theme;
    dataset.theme = "light";
    byId("print").replaceChildren(new DOMParser().parseFromString(svgOf(shown(), []), "image/svg+xml").documentElement);
  }, { signal: alive() });
  addEventListener("afterprint", () => {
    if (theme) dataset.theme = theme;
    else delete dataset.theme;
    byId("print").replaceChildren();
  }, { signal: alive() });
}
