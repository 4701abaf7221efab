"""Functions written as text: what they do, and that their text can be read in a traceback."""

import gc
import inspect
import linecache
import traceback
from pathlib import Path

from chainrule.core.op import OPS
from chainrule.core.rule import rule_for
from chainrule.core.written import written

ROOT = Path(__file__).parents[2] / "src" / "chainrule"


def test_the_text_is_shown_where_it_raises():
    share = written("def share(x, y):\n    return x / y", "share", {"__name__": "chainrule.core"})
    assert share(3, 2) == 1.5
    try:
        share(1, 0)
    except ZeroDivisionError:
        assert "return x / y" in traceback.format_exc()
    assert inspect.getsource(share) == "def share(x, y):\n    return x / y"


def test_the_text_goes_with_the_function():
    made = written("def made():\n    pass", "made", {"__name__": "chainrule.core"})
    file = made.__code__.co_filename
    assert file in linecache.cache
    del made
    gc.collect()
    assert file not in linecache.cache


def test_a_rule_can_be_read():
    source = inspect.getsource(rule_for(OPS["multiply"], (True, True)).pull)
    assert source.startswith("def pull(g, node):")
    assert "g * y" in source


def test_nowhere_else_is_text_made_into_code():
    places = [p for p in ROOT.rglob("*.py") if " exec(" in p.read_text(encoding="utf-8")]
    assert places == [ROOT / "core" / "written.py"]
