"""`import chainrule` loads NumPy and the standard library, and nothing else."""

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


def packages_loaded(statement: str) -> set[str]:
    """The packages outside the standard library that a statement loads in a new process."""
    command = [sys.executable, "-c", PROBE.format(statement=statement)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_import_loads_only_numpy() -> None:
    assert packages_loaded("import chainrule") == {"chainrule", "numpy"}


def test_probe_sees_what_is_loaded() -> None:
    assert packages_loaded("import json") == set()
    assert packages_loaded("import numpy.random") == {"numpy"}
    assert {"numpy", "scipy"} <= packages_loaded("import scipy.linalg")
    assert "rich" in packages_loaded("import rich.table")
