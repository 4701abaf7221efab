"""The hash of a whole array: every word and its place count, and the mark says the shape too."""

import subprocess
import sys

import numpy as np
import pytest

import chainrule as cr
from chainrule.errors import MutationError
from chainrule.record.watch import COPIED_BYTES, HASHED_BYTES, fingerprint
from chainrule.run import fingerprint as hashing

WORDS = 8192  # 64 KB: the machine code reads them
M64 = 2**64 - 1


def swapped_words(rng, table):
    i, j = rng.choice(table.size, 2, replace=False)
    table.flat[[i, j]] = table.flat[[j, i]]


def swapped_rows(rng, table):
    i, j = rng.choice(len(table), 2, replace=False)
    table[[i, j]] = table[[j, i]]


def swapped_columns(rng, table):
    i, j = rng.choice(table.shape[1], 2, replace=False)
    table[:, [i, j]] = table[:, [j, i]]


def one_bit(rng, table):
    bits = table.view(np.uint64).reshape(-1)
    bits[rng.integers(bits.size)] ^= np.uint64(1) << np.uint64(rng.integers(64))


def sign_bits(rng, table):
    where = rng.choice(table.size, rng.integers(1, 4), replace=False)
    table.flat[where] = -table.flat[where]


def signs_a_block_apart(rng, table):
    """The words of one accumulator, where a weak step loses high bits."""
    lane, steps = rng.integers(32), rng.integers(1, 9)
    where = lane + 32 * np.array([0, steps])
    table.flat[where] = -table.flat[where]


def sign_bits_of_float32(rng, table):
    singles = table.view(np.float32).reshape(-1)
    where = rng.choice(512, 2, replace=False)
    singles[where] = -singles[where]


def sum_preserved(rng, table):
    words = table.view(np.uint64).reshape(-1)
    i, j = rng.choice(words.size, 2, replace=False)
    step = np.uint64(rng.integers(1, 2**60))
    words[i] += step
    words[j] -= step


def next_number(rng, table):
    i = rng.integers(table.size)
    table.flat[i] = np.nextafter(table.flat[i], np.inf)


CHANGES = (
    swapped_words,
    swapped_rows,
    swapped_columns,
    one_bit,
    sign_bits,
    signs_a_block_apart,
    sign_bits_of_float32,
    sum_preserved,
    next_number,
)
TABLES = {
    "normal": lambda rng: rng.normal(size=(64, 128)),
    "whole numbers": lambda rng: np.arange(1.0, 8193.0).reshape(64, 128),
    "few values": lambda rng: rng.integers(1, 4, (64, 128)).astype(float),
}


@pytest.mark.parametrize("name", TABLES)
def test_small_changes_never_collide(name):
    """20,000 and more in all, each change compared with all others of the same table."""
    rng = np.random.default_rng(7)
    table = TABLES[name](rng)
    seen = {fingerprint(table): table.tobytes()}
    for n in range(7000):
        other = table.copy()
        CHANGES[n % len(CHANGES)](rng, other)
        content = other.tobytes()
        assert seen.setdefault(fingerprint(other), content) == content


@pytest.mark.parametrize(
    "size", [COPIED_BYTES // 8 + 1, HASHED_BYTES // 8, HASHED_BYTES // 8 + 1, WORDS, WORDS + 31]
)
def test_every_place_counts(size):
    """Also in what is left over behind the last whole block."""
    table = np.random.default_rng(3).normal(size=size)
    marks = {fingerprint(table)}
    for i in range(size):
        table[i] += 1
        marks.add(fingerprint(table))
        table[i] -= 1
    assert len(marks) == size + 1


def test_permutations_and_transposes():
    eye = np.eye(96)
    marks = {fingerprint(np.ascontiguousarray(np.roll(eye, n, axis=0))) for n in range(96)}
    assert len(marks) == 96
    square = np.random.default_rng(0).normal(size=(96, 96))
    assert fingerprint(square) != fingerprint(square.T.copy())
    assert fingerprint(square) != fingerprint(square[::-1].copy())
    assert fingerprint(np.zeros(WORDS)) != fingerprint(np.zeros(WORDS + 32))


def test_half_of_the_bits_turn():
    """A change of one bit, of whichever place in a word, turns half the bits of the hash."""
    if hashing._kernel() is None:
        pytest.skip("there is no LLVM")
    rng = np.random.default_rng(5)
    turned = np.zeros((64, 64))
    for n in range(64 * 100):
        data = rng.integers(0, 2**64, 96, dtype=np.uint64)  # 3 blocks: also the last is turned
        before, _ = hashing.digest(data.view(np.uint8))
        data[rng.integers(96)] ^= np.uint64(1) << np.uint64(n % 64)
        difference = before ^ hashing.digest(data.view(np.uint8))[0]
        turned[n % 64] += [difference >> bit & 1 for bit in range(64)]
    share = turned / 100
    # Five standard deviations of so many throws of a coin, for each of the 64 places and bits.
    assert abs(share.mean() - 0.5) < 0.01
    assert np.all(abs(share.mean(axis=0) - 0.5) < 5 * 0.5 / 80)
    assert np.all(abs(share.mean(axis=1) - 0.5) < 5 * 0.5 / 80)


def test_the_step_is_what_the_comment_says():
    """The machine code against the same in Python, and the inverses of each step."""
    if hashing._kernel() is None:
        pytest.skip("there is no LLVM")

    def step(a, w):
        x = a ^ w
        return (x ^ x >> hashing.SHIFT) * hashing.FACTOR & M64

    words = np.random.default_rng(1).integers(0, 2**63, 96, dtype=np.uint64)
    accumulators = [hashing.SEED * (n + 1) & M64 for n in range(32)]
    for n, word in enumerate(words.tolist()):
        accumulators[n % 32] = step(accumulators[n % 32], word)
    expected = hashing.SEED
    for a in accumulators:
        expected = step(expected, a)
        expected ^= expected >> 32
    assert hashing.digest(words.view(np.uint8)) == (expected, b"")

    inverse = pow(hashing.FACTOR, -1, 2**64)
    for a, w in zip(accumulators, words.tolist(), strict=False):
        y = step(a, w) * inverse & M64
        x = y
        for _ in range(3):  # three times 29 bits are more than 64
            x = y ^ x >> hashing.SHIFT
        assert x ^ w == a
        assert x ^ a == w


@pytest.mark.parametrize("size", [6, 1200, 6000])
def test_the_mark_says_shape_and_type(size):
    table = np.arange(float(size))
    forms = [table, table.reshape(2, -1), table.reshape(-1, 2), table.view(np.int64)]
    forms.append(np.asfortranarray(table.reshape(2, -1)))
    assert len({fingerprint(form) for form in forms}) == len(forms)
    assert fingerprint(table) == fingerprint(table.copy())


@pytest.mark.parametrize("make", [np.asfortranarray, lambda a: a[:, ::2], lambda a: a[::-1]])
def test_arrays_that_do_not_lie_in_order(make):
    base = np.random.default_rng(0).normal(size=(100, 120))
    table = make(base)
    before = fingerprint(table)
    assert fingerprint(table) == before
    table[[3, 4]] = table[[4, 3]]
    assert fingerprint(table) != before


def test_without_llvm(monkeypatch):
    monkeypatch.setattr(hashing, "_kernel", lambda: None)
    table = np.random.default_rng(0).normal(size=(64, 128))
    before = fingerprint(table)
    table[[3, 4]] = table[[4, 3]]
    assert fingerprint(table) != before


def test_short_arrays_need_no_llvm():
    program = (
        "import sys, numpy as np, chainrule as cr\n"
        "table = np.ones(3000)\n"
        "cr.grad(lambda x: np.sum(x * table * x))(np.ones(3000))\n"
        "assert 'llvmlite' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


@pytest.mark.parametrize("shape", [(4, 100), (4, 1000), (4, 1024), (8, 4096)])
def test_rows_shuffled_before_backward_are_noticed(shape):
    table = np.random.default_rng(0).normal(size=shape)
    x = cr.variable(np.ones(shape))
    loss = np.sum(x * table)
    table[:] = table[[1, 0, *range(2, shape[0])]]
    with pytest.raises(MutationError, match="changed after it was used"):
        loss.backward()


def test_an_array_reshaped_before_backward_is_noticed():
    table = np.arange(8192.0)
    x = cr.variable(np.ones(8192))
    loss = np.sum(x * table)
    table.resize((2, 4096), refcheck=False)
    with pytest.raises(MutationError, match="changed after it was used"):
        loss.backward()
