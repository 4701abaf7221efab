"""`chainrule completion`: completion scripts for shells, made from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from chainrule.cli.output import show_json, show_text

EXAMPLE = "chainrule completion bash"
INSTALL = """bash: eval "$(chainrule completion bash)" in ~/.bashrc;
zsh: eval "$(chainrule completion zsh)" in ~/.zshrc, after compinit;
fish: chainrule completion fish > ~/.config/fish/completions/chainrule.fish"""


class Option(NamedTuple):
    """An option of a command: what it takes (nothing, one of these words, or anything)."""

    name: str
    choices: tuple[str, ...]
    takes_value: bool
    help: str


class Words(NamedTuple):
    """What may follow a command: its options, and words in place of a file."""

    does: str
    options: tuple[Option, ...]
    choices: tuple[str, ...]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help=INSTALL)


def run(options: argparse.Namespace) -> int:
    script = {"bash": bash, "zsh": zsh, "fish": fish}[options.shell](words_by_command())
    if options.json:
        show_json({"shell": options.shell, "script": script})
    else:
        show_text(options, script)
    return 0


def words_by_command() -> dict[str, Words]:
    """Every command with its options and choices, as its parser has them."""
    from chainrule.cli.commands import COMMANDS, parser_of

    found = {}
    for name, command in COMMANDS.items():
        options: list[Option] = []
        choices: list[str] = []
        for action in parser_of(command)._actions:
            words = tuple(map(str, action.choices or ()))
            if action.option_strings:
                long = action.option_strings[-1]
                said = " ".join((action.help or "").split())
                options.append(Option(long, words, action.nargs != 0, said))
            else:
                choices += words
        found[name] = Words(command.does, tuple(options), tuple(choices))
    return found


def bash(commands: dict[str, Words]) -> str:
    """Options after a minus, the choices of an option after it, else files."""
    cases = [
        f'        "{name} {option.name}") words="{" ".join(option.choices)}" ;;'
        for name, words in commands.items()
        for option in words.options
        if option.choices
    ]
    lists = [
        f'        {name}) words="{" ".join(o.name for o in words.options)}"; '
        f'plain="{" ".join(words.choices)}" ;;'
        for name, words in commands.items()
    ]
    return "\n".join(
        [
            "# chainrule's completion for bash",
            "_chainrule() {",
            "    local word=${COMP_WORDS[COMP_CWORD]} words= plain=",
            '    if [ "$COMP_CWORD" -eq 1 ]; then',
            f'        words="{" ".join(commands)} --help --version"',
            '        COMPREPLY=($(compgen -W "$words" -- "$word"))',
            "        return",
            "    fi",
            '    case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in',
            *cases,
            "    esac",
            '    if [ -z "$words" ]; then',
            '        case "${COMP_WORDS[1]}" in',
            *(f"    {line}" for line in lists),
            "        esac",
            '        [ "${word#-}" = "$word" ] && words=$plain',
            "    fi",
            '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
            "}",
            "complete -o bashdefault -o default -F _chainrule chainrule",
        ]
    )


def zsh(commands: dict[str, Words]) -> str:
    """The same through _arguments, which shows the helps as well."""
    lines = ["#compdef chainrule", "_chainrule() {", "    local -a commands", "    commands=("]
    lines += [f"        {_quoted(f'{name}:{words.does}')}" for name, words in commands.items()]
    lines += ["    )", "    if (( CURRENT == 2 )); then", "        _describe command commands"]
    lines += ["        _arguments --help --version", "        return", "    fi"]
    lines += ["    case $words[2] in"]
    for name, words in commands.items():
        described = [*map(_zsh_option, words.options), f"*:value:{_zsh_words(words.choices)}"]
        lines.append(f"        {name}) _arguments {' '.join(map(_quoted, described))} ;;")
    return "\n".join([*lines, "    esac", "}", "compdef _chainrule chainrule"])


def _zsh_option(option: Option) -> str:
    said = option.help.replace("[", "(").replace("]", ")").replace(":", " ")
    value = f":value:{_zsh_words(option.choices)}" if option.takes_value else ""
    return f"{option.name}[{said}]{value}"


def _zsh_words(words: tuple[str, ...]) -> str:
    return f"({' '.join(words)})" if words else "_files"


def fish(commands: dict[str, Words]) -> str:
    return "\n".join(_fish_lines(commands))


def _fish_lines(commands: dict[str, Words]) -> Iterator[str]:
    start = "complete -c chainrule"
    for name, words in commands.items():
        yield f"{start} -f -n __fish_use_subcommand -a {name} -d {_quoted(words.does)}"
    for name in ("help", "version"):
        yield f"{start} -n __fish_use_subcommand -l {name}"
    for name, words in commands.items():
        here = f"{start} -n '__fish_seen_subcommand_from {name}'"
        for option in words.options:
            value = f" -x -a {_quoted(' '.join(option.choices))}" if option.choices else ""
            value = value or (" -r" if option.takes_value else "")
            yield f"{here} -l {option.name[2:]}{value} -d {_quoted(option.help)}"
        if words.choices:
            yield f"{here} -f -a {_quoted(' '.join(words.choices))}"


def _quoted(text: str) -> str:
    """A word in single quotes, which all three shells read alike but for a quote inside."""
    return "'" + text.replace("\\", "").replace("'", "’") + "'"
