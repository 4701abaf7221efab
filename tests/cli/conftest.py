"""The command, run in this process."""

import pytest

from chainrule.cli import main


@pytest.fixture
def run(capsys):
    """Run the command in this process: exit status, what it said, what it complained of."""

    def run(*words):
        try:
            status = main(words)
        except SystemExit as stop:  # argparse
            status = stop.code
        said = capsys.readouterr()
        return status, said.out, said.err

    return run
