"""SciPy's function on plain inputs, ours on Variables, an error of ours for what has neither."""

import inspect

import numpy as np
import pytest
import scipy.special
import scipy.stats

import chainrule as cr
from chainrule.scipy import special, stats
from chainrule.scipy.dispatch import meets_variable, namespace, paired

X = np.array([0.5, 1.5])


def theirs(a, b=1.0, *, flag=False):
    return "theirs"


def ours(a, b=1.0):
    return a * b


def test_a_variable_is_found_wherever_it_is():
    v = cr.variable(1.0)
    boxed = np.array([None])
    boxed[0] = v
    for held in (v, [1, (v,)], {"a": [v]}, boxed):
        assert meets_variable(0, held)
    assert not meets_variable(0, [1.0], {"a": X}, "v", None)


def test_a_pair_is_scipys_function_on_plain_inputs():
    call = paired(theirs, ours, "room.theirs")
    assert call(1.0) == call([1.0], flag=True) == "theirs"
    assert inspect.signature(call) == inspect.signature(theirs)
    assert (call.__name__, call.__wrapped__) == ("theirs", theirs)


def test_a_pair_is_ours_where_a_variable_is_met():
    call = paired(theirs, ours, "room.theirs")
    assert cr.grad(lambda x: call(x, 3.0))(2.0) == 3.0
    assert cr.grad(lambda x: call(2.0, b=x))(3.0) == 2.0
    assert cr.grad(lambda x: call(x, flag=False))(2.0) == 1.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda f, x: f(x, flag=True), r"does not take flag=True \(it takes a, b\)"),
        (lambda f, x: f(x, c=2), "unexpected keyword argument 'c'"),
        (lambda f, x: f(x, "text"), "room.theirs"),
    ],
)
def test_a_call_that_does_not_fit_names_the_function_and_the_line(call, said):
    pair = paired(theirs, ours, "room.theirs")
    with pytest.raises(cr.ChainruleError, match=said) as caught:
        cr.grad(lambda x: call(pair, x))(2.0)
    assert "test_dispatch.py" in str(caught.value)


def test_names_of_ours_stand_beside_scipys():
    find, listed = namespace("scipy.special", {"softmax": lambda x, axis=None: x})
    assert find("softmax")(X).sum() == 1.0
    assert {"softmax", "gamma", "agm"} <= {*listed()}
    with pytest.raises(cr.UnsupportedAttributeError, match="has no attribute 'nothing'"):
        find("nothing")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: special.agm(x, 2.0), "scipy.special.agm is not differentiated on a Variable"),
        (lambda x: special.mathieu_a(1, x), "mathieu_a"),
        (lambda x: special.legendre_p(2, x), "legendre_p"),
        (lambda x: stats.mode(x), "the nearest that is: scipy.stats.moment"),
        (lambda x: stats.gaussian_kde(x), "scipy.stats.gaussian_kde is not differentiated"),
        (lambda x: stats.norm.fit(x), "scipy.stats.norm.fit is not differentiated"),
        (lambda x: stats.norm(x[0]).expect(), "scipy.stats.norm.expect is not differentiated"),
        (lambda x: stats.norm(x[0]).rvs(3), "scipy.stats.norm.rvs is not differentiated"),
        (lambda x: stats.skewnorm.pdf(x, 1.0), "scipy.stats.skewnorm.pdf is not differentiated"),
        (lambda x: stats.skewnorm(x[0]), "scipy.stats.skewnorm is not differentiated"),
        (lambda x: stats.multivariate_t.logpdf(x), "multivariate_t.logpdf is not differentiated"),
    ],
)
def test_what_is_not_covered_refuses_variables_and_names_the_line(call, said):
    with pytest.raises(cr.UnsupportedError, match=said) as caught:
        cr.grad(lambda x: np.sum(call(x)))(X)
    assert "test_dispatch.py" in str(caught.value)


def test_what_is_not_covered_is_scipys_on_plain_inputs():
    assert special.agm(1.0, 2.0) == scipy.special.agm(1.0, 2.0)
    assert stats.skewnorm.pdf(0.3, 1.0) == scipy.stats.skewnorm.pdf(0.3, 1.0)
    assert stats.skewnorm(1.0).mean() == scipy.stats.skewnorm(1.0).mean()
    kde = stats.gaussian_kde([0.0, 1.0, 3.0])
    assert isinstance(kde, stats.gaussian_kde)
    assert isinstance(kde, scipy.stats.gaussian_kde)
    assert stats.qmc is scipy.stats.qmc


def test_ufuncs_look_into_lists():
    assert cr.grad(lambda x: np.sum(special.gamma([x, 2.0])))(3.0) == pytest.approx(
        2 * scipy.special.digamma(3.0)
    )
    assert special.gamma.nin == 1


def test_recorded_lines_are_the_users():
    graph = cr.trace(lambda x: stats.norm.logpdf(x, 0.5, 2.0), 1.0)
    assert {str(node.line.file).rpartition("/")[2] for node in graph.nodes if not node.is_leaf} == {
        "test_dispatch.py"
    }


def test_compiled_and_explained():
    def loss(p, x):
        return -np.sum(stats.t(p[0], p[1], np.exp(p[2])).logpdf(x))

    p, x = np.array([3.0, 0.2, 0.1]), np.linspace(-2, 3, 7)
    np.testing.assert_allclose(
        cr.compile(cr.grad(loss))(p, x), cr.grad(loss)(p, x), rtol=1e-12, atol=1e-13
    )
    assert cr.explain(loss, p, x).path_count > 0
