// The colours, as the style sheet has them for light and dark; the canvas needs them as text.

const NAMES = ["ground", "gate", "text", "dim", "wire", "value", "adjoint", "wrong", "select"] as const;
export type Colours = Record<(typeof NAMES)[number], string>;

export function colours(): Colours {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Colours;
}

/** Whether the page is dark now, by choice or as the system is. */
export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function toggle(): void {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
}
