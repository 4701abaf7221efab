"""Reading the command line and calling what it asks for."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from io import TextIOWrapper

from chainrule.cli.commands import COMMANDS, parser_of, top_parser
from chainrule.cli.mistake import InputError, lines_of
from chainrule.errors import ChainruleError

FAILURES = (
    *(ChainruleError, ArithmeticError, TypeError, ValueError, LookupError, AttributeError),
    *(MemoryError, RecursionError, ImportError, OSError, AssertionError),
)
OPTION = re.compile(r"-[ho]|-|--|--[a-z][a-z-]*(=.*)?", re.S)
BAD_INPUT, INTERRUPTED, CLOSED = 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """The `chainrule` command; returns the exit status: 0 fine, 1 "no", 2 bad input."""
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, TextIOWrapper):  # what a terminal cannot show is no reason to fail
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:  # chainrule … | head
        return _closed()
    except KeyboardInterrupt:
        return INTERRUPTED
    except FAILURES as error:
        sys.stderr.write("".join(f"{line}\n" for line in lines_of(error)))
        return BAD_INPUT
    return status


def _run(words: list[str]) -> int:
    if not words or words[0].startswith("-"):
        return _without_command(words)
    command = COMMANDS.get(words[0])
    if command is None:
        near = get_close_matches(words[0], COMMANDS, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(COMMANDS)}"
        raise InputError(f"no command {words[0]!r}{hint}")
    parser = parser_of(command)
    options = parser.parse_intermixed_args([_no_option(word) for word in words[1:]])
    return int(command.module.run(options))


def _without_command(words: list[str]) -> int:
    from chainrule import __version__

    parser = top_parser()
    parser.add_argument("--version", action="version", version=f"chainrule {__version__}")
    if not words:
        parser.print_help()
        return 0
    parser.parse_args(words)  # --help and --version end here
    raise InputError("which command? (see chainrule --help)")


def _no_option(word: str) -> str:
    """A formula may begin with a minus, which argparse would take for an option."""
    return f" {word}" if word.startswith("-") and not OPTION.fullmatch(word) else word


def _closed() -> int:
    """Nobody reads any more; what Python would still write at its end goes nowhere."""
    with suppress(OSError, ValueError):  # not a real file, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CLOSED
