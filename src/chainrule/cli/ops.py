"""`chainrule ops`: every operation, one a line."""

from __future__ import annotations

import argparse

from chainrule.cli.output import show, show_json

EXAMPLE = "chainrule ops soft"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("part", nargs="?", default="", help="only those with this in their name")


def run(options: argparse.Namespace) -> int:
    from chainrule.cli.mistake import InputError
    from chainrule.core.op import OPS

    part = options.part.strip()
    named = {name: (OPS[name].__doc__ or name).splitlines()[0] for name in sorted(OPS)}
    found = {name: says for name, says in named.items() if part in name}
    if not found:
        raise InputError(f"no operation has {part!r} in its name")
    if options.json:
        show_json(
            {
                "ops": [
                    {
                        "name": name,
                        "says": says,
                        "inputs": list(OPS[name].inputs),
                        "settings": list(OPS[name].attrs),
                        "kinks": OPS[name].kinks is not None,
                    }
                    for name, says in found.items()
                ]
            }
        )
    else:
        show(options, [[(f"{name:24} ", "heading"), (says, "")] for name, says in found.items()])
    return 0
