"""`chainrule info`: what chainrule runs on, and what it is missing."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from chainrule.cli.output import columns, show, show_json

if TYPE_CHECKING:
    from chainrule.view.styled import Styled

EXAMPLE = "chainrule info"
# Package: how it is installed, and what it gives.
EXTRAS = {
    "llvmlite": ("llvmlite", "cr.compile: machine code"),
    "networkx": ("networkx", "graph.to_networkx()"),
    "matplotlib": ("chainrule[learn]", "learning curves that are drawn"),
    "safetensors": ("chainrule[learn]", "checkpoints of a training"),
    "scikit-learn": ("chainrule[learn]", "the bundled data sets"),
}
FEATURES = ("AVX", "FMA", "NEON", "SVE", "ASIMD", "VSX")


def add(parser: argparse.ArgumentParser) -> None:
    """It takes no arguments."""


def run(options: argparse.Namespace) -> int:
    found = document()
    if options.json:
        show_json(found)
    else:
        show(options, _lines(found))
    return 0


def document() -> dict[str, Any]:
    """Everything, as data."""
    import numpy as np

    from chainrule import __version__
    from chainrule.run.cache import MEGABYTES

    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return {
        "chainrule": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in ("numpy", "scipy", "rich", *EXTRAS)},
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "cpu": {"name": _processor(), "cores": os.cpu_count(), "features": _features()},
        "threads": _threads(),
        "cache": {**_cache(), "limit_mb": os.environ.get("CHAINRULE_CACHE_MB") or MEGABYTES},
        "missing": [
            {"package": name, "install": install, "gives": gives}
            for name, (install, gives) in EXTRAS.items()
            if _version(name) is None
        ],
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _features() -> list[str]:
    """What the processor has of what numerical code uses, as NumPy finds it."""
    found = import_module("numpy._core._multiarray_umath").__cpu_features__
    return [name for name, there in found.items() if there and name.startswith(FEATURES)]


def _threads() -> int:
    from chainrule.run.threads import threads

    return threads()


def _cache() -> dict[str, Any]:
    """The folder of compiled code, and how much lies in it."""
    from chainrule.run.cache import ENTRY, code_cache

    cache = code_cache()
    if cache is None:
        return {"folder": None, "entries": 0, "bytes": 0}
    sizes = []
    with suppress(OSError), os.scandir(cache.folder) as items:
        for item in items:
            with suppress(OSError):
                if ENTRY.fullmatch(item.name):
                    sizes.append(item.stat(follow_symlinks=False).st_size)
    return {"folder": str(cache.folder), "entries": len(sizes), "bytes": sum(sizes)}


def _lines(found: dict[str, Any]) -> Iterator[Styled]:
    cache, cpu = found["cache"], found["cpu"]
    kept = "off (CHAINRULE_CACHE)"
    if cache["folder"] is not None:
        size = f"{cache['bytes'] / 1e6:.1f} of {cache['limit_mb']} MB"
        kept = f"{cache['folder']}: {cache['entries']} entries, {size}"
    rows = [
        ("chainrule", found["chainrule"]),
        ("Python", f"{found['python']}, {found['executable']}"),
        *((name, of or "not installed") for name, of in found["packages"].items()),
        ("BLAS", found["blas"]),
        ("platform", found["platform"]),
        ("processor", f"{cpu['name']}, {cpu['cores']} cores"),
        ("", " ".join(cpu["features"])),
        ("threads", f"{found['threads']} for compiled functions"),
        ("cache", kept),
    ]
    yield from columns(rows, ("heading", ""))
    for missing in found["missing"]:
        yield [(f"  pip install '{missing['install']}' would give {missing['gives']}", "dim")]
