"""Pages of Markdown as programs: their fenced blocks, run in order, and the output each shows.

    ```python     run; one namespace per page, each block in a file of its own, example.py
    ```text       what the block above it prints, or the error it raises
    ```console    `$ chainrule …` lines, each followed by what the command prints
    ```sh         for the reader's shell; not run, but a `make` target must exist
    ```           a drawing; not run

`<!-- needs torch -->` in front of a block leaves it out where that package is not installed.
Numbers with a decimal point or an exponent may differ in their last digits, since processors
round differently; everything else must be equal.  Write the true output into pages with

    python -m tests.docs.pages [page …]
"""

from __future__ import annotations

import io
import linecache
import re
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from chainrule import set_threads
from chainrule.cli import main
from chainrule.core.op import OPS

ROOT = Path(__file__).parents[2]
NEEDS = re.compile(r"<!-- needs (.*) -->")
NUMBER = re.compile(r"(?:(?<![\w.])[-+]?|(?<=[\d.])[-+])\d+(?:\.\d*)?(?:e[-+]?\d+)?(?=j?(?![\w.]))")
RELATIVE, ABSOLUTE = 1e-6, 1e-8


def page_paths() -> list[Path]:
    folders = ROOT.glob("*.md"), (ROOT / "examples").glob("*.md"), (ROOT / "docs").rglob("*.md")
    return [path for folder in folders for path in sorted(folder)]


@dataclass
class Block:
    """One fenced block: its language, its lines, and where they stand in the page."""

    language: str
    first: int  # index of the first line inside the fence
    lines: list[str]
    needs: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def end(self) -> int:
        return self.first + len(self.lines)


@dataclass
class Difference:
    """A block that shows something else than what it does."""

    block: Block
    shown: str
    found: str


def blocks_of(lines: list[str]) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    inside: Block | None = None
    needs: list[str] = []
    for number, line in enumerate(lines):
        if inside is not None:
            if line == "```":
                yield inside
                inside = None
            else:
                inside.lines.append(line)
        elif line.startswith("```"):
            inside, needs = Block(line[3:].strip(), number + 1, [], needs), []
        elif found := NEEDS.fullmatch(line):
            needs = found[1].split()
    assert inside is None, f"a block that holds {inside.lines[:1]} has no end"


class Page:
    """One page, run block by block."""

    def __init__(self, path: Path):
        self.path = path
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.blocks = list(blocks_of(self.lines))
        self.scope: dict[str, Any] = {"__name__": "example"}
        for before, block in pairwise([None, *self.blocks]):
            if block.language == "text":
                where = f"{path.name}:{block.first}"
                assert before is not None, f"{where}: output of nothing"
                assert before.language == "python", f"{where}: output of a {before.language} block"
                between = self.lines[before.end + 1 : block.first - 1]
                assert not any(between), f"{where}: text between a block and its output"

    def differences(self) -> list[Difference]:
        """Run the page; each block whose output is not shown, or shown as something else."""
        known = set(OPS)
        try:
            return list(self._run())
        finally:
            for name in set(OPS) - known:  # a page may show how an op is added
                del OPS[name]

    def _run(self) -> Iterator[Difference]:
        for block, after in zip_longest(self.blocks, self.blocks[1:]):
            if any(find_spec(name) is None for name in block.needs):
                continue
            if block.language == "python":
                found = self.output_of(block)
                shown = after if after is not None and after.language == "text" else None
                if shown is None and found:
                    yield Difference(block, "", found)
                elif shown is not None and not same(shown.text, found):
                    yield Difference(shown, shown.text, found)
            elif block.language == "console":
                found = console_output(block)
                if not same(block.text, found):
                    yield Difference(block, block.text, found)

    def output_of(self, block: Block) -> str:
        """What the block prints; if it raises, the error as Python's last lines show it."""
        name = f"{self.path}/{block.first}/example.py"
        source = block.text + "\n"
        # No modification time: linecache keeps the entry although no such file exists.
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        printed = io.StringIO()
        with redirect_stdout(printed), np.printoptions():
            try:
                exec(compile(source, name, "exec"), self.scope)  # noqa: S102 - our own pages
            except Exception as error:  # noqa: BLE001 - shown to the reader
                printed.write("".join(traceback.format_exception_only(error)))
        return trimmed(printed.getvalue())


def console_output(block: Block) -> str:
    """The block as it would look if its commands were typed now."""
    typed = []
    for line in block.lines:
        if not line.startswith("$ "):
            continue
        program, *arguments = shlex.split(line[2:])
        assert program == "chainrule", f"{line}: only the chainrule command is run; use a sh block"
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(printed):
            main(arguments)
        typed.append(f"{line}\n{printed.getvalue()}")
    return trimmed("".join(typed))


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip()


def same(shown: str, found: str) -> bool:
    """Equal but for the width of white space and the last digits of numbers."""
    words, numbers = taken_apart(shown)
    other_words, other_numbers = taken_apart(found)
    return words == other_words and all(map(close, numbers, other_numbers))


def taken_apart(text: str) -> tuple[list[str], list[str]]:
    """The words with # in place of each number, and the numbers."""
    return NUMBER.sub(" # ", text).split(), NUMBER.findall(text)


def close(a: str, b: str) -> bool:
    if a == b:
        return True
    if a.lstrip("+-").isdigit() and b.lstrip("+-").isdigit():
        return False
    return abs(float(a) - float(b)) <= ABSOLUTE + RELATIVE * abs(float(a))


def rewrite(page: Page) -> list[int]:
    """Put the true output into the page; the line numbers of what changed."""
    lines, changed = list(page.lines), []
    for difference in reversed(page.differences()):
        block = difference.block
        if block.language == "python":  # its output is not shown yet
            shown = ["", "```text", *difference.found.splitlines(), "```"]
            lines[block.end + 1 : block.end + 1] = shown
        else:
            lines[block.first : block.end] = difference.found.splitlines()
        changed.append(block.first)
    if changed:
        page.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return changed[::-1]


if __name__ == "__main__":
    set_threads(1)  # as in the tests: reports say how much memory the threads take
    for path in [Path(name).resolve() for name in sys.argv[1:]] or page_paths():
        for line in rewrite(Page(path)):
            sys.stdout.write(f"{path.relative_to(ROOT)}:{line} rewritten\n")
