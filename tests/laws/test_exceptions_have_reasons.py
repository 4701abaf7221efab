"""A broad `except`, a lint exemption and a type exemption each say why, or which."""

import re
from pathlib import Path

import chainrule

PACKAGE = Path(chainrule.__file__).parent
BROAD = re.compile(r"^\s*except(\s*:|\s+(Base)?Exception\b)")
REASON = re.compile(r"#\s*(?:noqa: [A-Z0-9, ]+ - )?(?!noqa)\w+\W+\w+")
BARE_NOQA = re.compile(r"#\s*noqa(?!: [A-Z]+[0-9]+)")
BARE_IGNORE = re.compile(r"#\s*type: ignore(?!\[[a-z-]+)")
MAX_TYPE_EXEMPTIONS = 27  # it only shrinks


def offences(text: str) -> list[int]:
    """The lines, counted from 1, that catch everything or exempt themselves without a reason."""
    return [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if (BROAD.match(line) and not REASON.search(line))
        or BARE_NOQA.search(line)
        or BARE_IGNORE.search(line)
    ]


def sources() -> dict[str, str]:
    return {
        str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def test_whoever_catches_everything_says_why() -> None:
    wrong = {name: lines for name, text in sources().items() if (lines := offences(text))}
    assert wrong == {}


def test_type_exemptions_only_shrink() -> None:
    assert sum(text.count("# type: ignore[") for text in sources().values()) <= MAX_TYPE_EXEMPTIONS


def test_offences_are_seen() -> None:
    text = (
        "try:\n    f()\nexcept Exception:\n    pass\n"
        "try:\n    f()\nexcept Exception as error:  # f is the user's\n    pass\n"
        "try:\n    f()\nexcept:  # noqa\n    pass\n"
        "try:\n    f()\nexcept Exception:  # noqa: BLE001 - f is the user's\n    pass\n"
        "x = y  # type: ignore\n"
    )
    assert offences(text) == [3, 11, 17]
