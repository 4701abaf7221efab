"""The texts kept in `golden.ll`; `python -m tests.lower.maths.golden --update` writes them anew."""

import sys
from pathlib import Path

from chainrule.lower.maths import definitions

FILE = Path(__file__).with_name("golden.ll")


def text() -> str:
    found = definitions([("exp", "f64", 8), ("exp", "f32", 1)])
    return "\n".join([*sorted(found.declares), "", found.text])


if __name__ == "__main__" and "--update" in sys.argv:
    FILE.write_text(text(), encoding="utf-8")
