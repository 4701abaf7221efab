"""The rows that are trained on: CSV and NPZ files that are refused, words that are classes."""

import numpy as np
import pytest

from chainrule.cli.training_data import data_of

X = np.random.default_rng(0).standard_normal((120, 3))
KIND = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize(
    ("text", "label", "says"),
    [
        ("a,b\n1,2\n3,4\n5,2\n7,4\n", "c", "expected one column 'c', found 'a', 'b'"),
        ("a,b\n1,2\nx,4\n", None, "line 3, column 'a': expected a number, found 'x'"),
        ("a,b\n1,2\n3,\n", None, "line 3, column 'b': expected a class, found ''"),
        ("a,b\n1,2,3\n", None, "line 2: expected 2 columns, found 3"),
        ("a,b\n", None, "a"),
        ("", None, "expected rows of data, found none"),
        ("a,b\n1,cat\n2,cat\n3,cat\n", None, "there is one class only, cat"),
        ("a,b\n1,5\n2,7\n3,9\n", None, "3 different values in 3 rows are hardly classes: --regr"),
    ],
)
def test_csv_files_that_are_refused(run, tmp_path, text, label, says):
    path = tmp_path / "table.csv"
    path.write_text(text)
    words = ("--label", label) if label else ()
    status, out, err = run("train", str(path), *words, "--json")
    assert (status, out, err.count("\n")) == (2, "", 1), err
    assert "table.csv" in err
    assert says in err


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"a": X}, "the arrays x and y are needed; there are a"),
        ({"x": X, "y": KIND[:5]}, "x of shape (120, 3) and y of shape (5,)"),
        ({"x": X[:, 0], "y": KIND}, "x must be (rows, …)"),
        ({"x": X * 1j, "y": KIND}, "x is of complex128, not of numbers"),
        ({"x": X, "y": KIND + 1j}, "y is of complex128"),
        ({"x": np.where(X[7, 1] == X, np.nan, X), "y": KIND}, "x has a nan in row 7, column 1"),
        ({"x": X, "y": np.where(KIND, np.inf, 0.5)}, "y has a inf"),
    ],
)
def test_npz_files_that_are_refused(run, tmp_path, arrays, says):
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    status, out, err = run("train", str(path), "--json")
    assert (status, out, err.count("\n")) == (2, "", 1), err
    assert says in err


def test_words_in_an_npz_are_classes(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, x=X, y=np.array(["cat", "dog"])[KIND])
    data = data_of(str(path))
    assert data.classes == ("cat", "dog")
    np.testing.assert_array_equal(data.y, KIND)
