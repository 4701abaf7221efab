"""`chainrule explore`: a page in which a formula or function computes and differentiates."""

from __future__ import annotations

import argparse

from chainrule.cli.output import show, show_json

EXAMPLE = 'chainrule explore "(x + y) * z" x=-2 y=5 z=-4 -o page.html'


def add(parser: argparse.ArgumentParser) -> None:
    from chainrule.cli.subject import add_subject

    add_subject(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="page.html",
        help="write the page there; without it, a temporary file is opened in the browser",
    )


def run(options: argparse.Namespace) -> int:
    from chainrule.cli.nodes import scalar_run
    from chainrule.cli.subject import subject_of
    from chainrule.view.explore import page_of, written

    with subject_of(options) as subject:
        run = scalar_run(subject).backward()
        page = page_of(run, subject.shown if subject.is_formula else "")
    path = written(page, options.output)
    if options.json:
        show_json({"function": subject.shown, "page": str(path), "bytes": len(page.encode())})
    else:
        show(options, [[(f"  {path}", ""), (f"   {len(page.encode()) // 1000} kB", "dim")]])
    return 0
