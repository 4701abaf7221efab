"""`python -m chainrule` is the `chainrule` command."""

import sys

from chainrule.cli import main

sys.exit(main())
