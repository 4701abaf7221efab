"""Pages inside notebooks: whether this is one, and a page as an object that a cell shows."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html import escape

HEIGHT = 640
# A frame is dark where the notebook is, whatever the system is: JupyterLab, VS Code, Colab say so.
DARK = ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]')
LIGHT = ('[data-jp-theme-light="true"]', ".vscode-light", 'html[theme="light"]')

# What is left of the frame in a notebook from elsewhere, until its reader trusts it.
UNTRUSTED = "trust this notebook to see the page here"


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this code; IPython is asked only where it is loaded."""
    ask = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return getattr(ask() if ask else None, "kernel", None) is not None


@dataclass(frozen=True)
class Embedded:
    """A page as a notebook shows it: in a frame that can reach nothing outside of itself.

    It is complete, so that it is also there in a notebook that was saved, or made into HTML.
    """

    title: str
    page: str = field(repr=False)

    def _repr_html_(self) -> str:
        return (
            f"<style>{_scheme(DARK, 'dark')}{_scheme(LIGHT, 'light')}</style>"
            f'<iframe class="chainrule-page" title="{escape(self.title)}" '
            'sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0" '
            f'srcdoc="{escape(self.page)}">{UNTRUSTED}</iframe>'
        )


def _scheme(hosts: tuple[str, ...], scheme: str) -> str:
    chosen = ", ".join(f"{host} .chainrule-page" for host in hosts)
    return f"{chosen} {{ color-scheme: {scheme}; }}"
