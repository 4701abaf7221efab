"""The colours of pictures, for light and for dark: two of them mean something, one is for trouble.

Every text has a contrast of at least 4.5 to the ground it stands on, every line one of 3 (WCAG AA).
"""

from __future__ import annotations

from typing import Literal

from chainrule.errors import ArgumentError

Theme = Literal["auto", "light", "dark"]

LIGHT = {
    "ground": "#ffffff",
    "gate": "#f3f5f7",
    "text": "#1f2328",
    "dim": "#59636e",
    "wire": "#768390",
    "value": "#0b6e99",
    "adjoint": "#b35900",
    "wrong": "#c00000",
}
DARK = {
    "ground": "#0f1419",
    "gate": "#1c232b",
    "text": "#e6edf3",
    "dim": "#9aa4af",
    "wire": "#7d8794",
    "value": "#6cc5ea",
    "adjoint": "#ffb066",
    "wrong": "#ff8a80",
}

RULES = """
.chainrule text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
  monospace; fill: var(--text); white-space: pre; }
.chainrule .ground { fill: var(--ground); }
.chainrule .wire, .chainrule .stem { fill: none; stroke: var(--wire); stroke-width: 1.4; }
.chainrule .none { stroke-dasharray: 3 3; }
.chainrule .gate { fill: var(--gate); stroke: var(--wire); stroke-width: 1.2; }
.chainrule .result { stroke: var(--text); stroke-width: 2; }
.chainrule .dot { fill: var(--wire); }
.chainrule .dim, .chainrule .local { fill: var(--dim); }
.chainrule .small, .chainrule .local { font-size: 10px; }
.chainrule .middle { text-anchor: middle; }
.chainrule .end { text-anchor: end; }
.chainrule .value { fill: var(--value); }
.chainrule .adjoint { fill: var(--adjoint); font-style: italic; }
.chainrule .name { font-weight: 600; }
.chainrule .plus-value { fill: var(--value); }
.chainrule .minus-value { fill: none; stroke: var(--value); }
.chainrule .plus-adjoint { fill: var(--adjoint); }
.chainrule .minus-adjoint { fill: none; stroke: var(--adjoint); }
.chainrule .wrong { fill: var(--wrong); font-weight: 600; }
.chainrule .alarm { stroke: var(--wrong); stroke-width: 2.4; }
"""


def style(theme: str) -> str:
    """The style sheet of a picture, which changes nothing outside of it."""
    if theme not in ("auto", "light", "dark"):
        raise ArgumentError(f"theme {theme!r}: choose one of auto, light, dark")
    chosen = DARK if theme == "dark" else LIGHT
    made = f".chainrule {{ {_variables(chosen)} }}"
    if theme == "auto":
        made += f"\n@media (prefers-color-scheme: dark) {{ .chainrule {{ {_variables(DARK)} }} }}"
    return f"{made}{RULES}"


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())
