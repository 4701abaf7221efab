"""`chainrule.scipy` is a package of lazily imported modules, and light itself."""

import subprocess
import sys

import pytest

import chainrule as cr
from chainrule.scipy import ROOMS


def test_modules_are_found_by_attribute_and_by_import():
    from chainrule import scipy

    assert cr.scipy is scipy
    assert scipy.special.__name__ == "chainrule.scipy.special"


def test_unknown_names_raise_ours():
    with pytest.raises(cr.UnsupportedAttributeError, match=r"has no 'cluster'; it has fft, "):
        cr.scipy.cluster  # noqa: B018 - asking is what raises


def test_modules_are_listed():
    assert {*ROOMS} <= {*dir(cr.scipy)}


def test_scipy_itself_is_not_imported_with_it():
    code = "import sys, chainrule.scipy; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
