"""`import chainrule` loads NumPy, the standard library, and of itself what recording needs.

Modules and lines are counted, not time: the same on every machine.
"""

import subprocess
import sys

# Only what the statement itself loads counts, as an environment may load modules at start-up.
# A module without a spec has no file: NumPy's compiled parts register a few of those.
PROBE = """
import sys
before = set(sys.modules)
{statement}
for name, module in list(sys.modules.items()):
    if "." in name or name in before or name in sys.stdlib_module_names:
        continue
    if getattr(module, "__spec__", None) is None or name.startswith("_sysconfigdata"):
        continue
    print(name)
"""


# The modules of the package that a statement loads, and how many of its lines run meanwhile.
COUNT = """
import numpy, sys
lines = 0
def count(frame, event, argument):
    global lines
    if not frame.f_globals.get("__name__", "").startswith("chainrule"):
        return None
    lines += event == "line"
    return count
sys.settrace(count)
{statement}
sys.settrace(None)
print(lines, *(name for name in sys.modules if name.startswith("chainrule")))
"""
MAX_MODULES = 42
MAX_LINES = 12_500
ON_FIRST_USE = ("core.containers", "core.graph", "diff", "record.specialise", "record.trace", "run")


def printed(program: str, statement: str) -> list[str]:
    """The words that a program prints in a new process."""
    command = [sys.executable, "-c", program.format(statement=statement)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def packages_loaded(statement: str) -> set[str]:
    """The packages outside the standard library that a statement loads in a new process."""
    return set(printed(PROBE, statement))


def test_import_runs_few_lines_of_few_modules() -> None:
    lines, *modules = printed(COUNT, "import chainrule")
    assert len(modules) <= MAX_MODULES, modules
    assert int(lines) <= MAX_LINES


def test_what_is_used_later_is_imported_later() -> None:
    _, *modules = printed(COUNT, "import chainrule")
    early = [m for m in modules if m.removeprefix("chainrule.").startswith(ON_FIRST_USE)]
    assert early == []


def test_a_gradient_needs_neither_compiler_nor_custom_functions() -> None:
    _, *modules = printed(COUNT, "import chainrule; chainrule.grad(lambda x: x * x)(2.0)")
    assert "chainrule.diff.gradient" in modules
    late = {f"chainrule.{name}" for name in ("record.specialise", "diff.sweep", "diff.custom")}
    assert late.isdisjoint(modules)


def test_the_counts_see_what_is_loaded() -> None:
    lines, *modules = printed(COUNT, "import chainrule.diff.jacobian")
    assert "chainrule.diff.jacobian" in modules
    fewer, *_ = printed(COUNT, "import chainrule")
    assert int(lines) > int(fewer) > 1_000


def test_import_loads_only_numpy() -> None:
    assert packages_loaded("import chainrule") == {"chainrule", "numpy"}


def test_probe_sees_what_is_loaded() -> None:
    assert packages_loaded("import json") == set()
    assert packages_loaded("import numpy.random") == {"numpy"}
    assert {"numpy", "scipy"} <= packages_loaded("import scipy.linalg")
    assert "rich" in packages_loaded("import rich.table")
