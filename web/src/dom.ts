// Elements made of text: nothing a name or a value holds is ever read as markup.

export type Child = Node | string | null | false | undefined;

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, kind = "", ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

export function button(text: string, kind: string, press: () => void, ...children: Child[]): HTMLButtonElement {
  const made = h("button", kind, text, ...children);
  made.addEventListener("click", press);
  return made;
}

/** Text with its styles, as `graph.steps` has it. */
export function pieces(parts: [text: string, style: string][]): HTMLElement[] {
  return parts.map(([text, style]) => h("span", style, text));
}
