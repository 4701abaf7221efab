"""The `chainrule` command."""

from chainrule.cli.main import main

__all__ = ["main"]
