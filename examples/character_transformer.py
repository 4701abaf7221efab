"""A small transformer that learns to write like chainrule's own documentation.

The model gives p(next character | the characters before): embeddings of character and place, then
blocks of causal attention and of a hidden layer, each added to what it was computed from.  Its
loss, −log p of the character that does follow, is held against what simpler models reach: the
entropy of single characters, and of characters given the one before.

    python examples/character_transformer.py        seconds: letters that look like English
    python examples/character_transformer.py 15     15 epochs instead of 5: more of it are words
"""

import re
import sys
from pathlib import Path

import numpy as np

import chainrule as cr
from chainrule import learn

DOCS = Path(__file__).parents[1] / "docs"
CONTEXT, WIDTH, HEADS, BLOCKS = 32, 64, 4, 2


def prose():
    """The plain sentences of the documentation: no code, tables or formulas, small letters."""
    pages = [p for room in ("ground-up", "how-to", "explanation") for p in (DOCS / room).glob("*")]
    text = "\n\n".join(page.read_text(encoding="utf-8") for page in sorted(pages))
    text = re.sub(r"^```.*?^```|^\|.*?$|\]\([^)]*\)|[`*\[]", "", text, flags=re.S | re.M)
    paragraphs = [part for part in text.split("\n\n") if part.isascii() and part.endswith(".")]
    return re.sub(r"[^a-z,.:;()']+", " ", " ".join(paragraphs).lower())


def init(rng, count):
    """The parameters, in float32: half the memory, and twice as many numbers to an instruction."""

    def block():
        return {
            "before attention": learn.init_layer_norm(WIDTH, np.float32),
            "attention": learn.init_attention(rng, WIDTH, dtype=np.float32),
            "before hidden": learn.init_layer_norm(WIDTH, np.float32),
            "hidden": learn.init_linear(rng, WIDTH, 4 * WIDTH, dtype=np.float32),
            "back": learn.init_linear(rng, 4 * WIDTH, WIDTH, dtype=np.float32),
        }

    return {
        "character": learn.init_embedding(rng, count, WIDTH, dtype=np.float32),
        "place": learn.init_embedding(rng, CONTEXT, WIDTH, dtype=np.float32),
        "blocks": [block() for _ in range(BLOCKS)],
        "end": learn.init_layer_norm(WIDTH, np.float32),
        "scores": learn.init_linear(rng, WIDTH, count, dtype=np.float32),
    }


def scores(p, characters):
    """Scores of what follows each place: (…, CONTEXT) whole numbers → (…, CONTEXT, count)."""
    x = learn.embedding(p["character"], characters) + p["place"]["table"]
    for block in p["blocks"]:
        seen = learn.layer_norm(block["before attention"], x)
        x = x + learn.attention(block["attention"], seen, heads=HEADS, causal=True)
        seen = learn.layer_norm(block["before hidden"], x)
        x = x + learn.linear(block["back"], cr.gelu(learn.linear(block["hidden"], seen)))
    return learn.linear(p["scores"], learn.layer_norm(p["end"], x))


def loss(p, windows):
    """The mean of −log p(next character), over every place of every window."""
    return learn.cross_entropy(scores(p, windows[:, :-1]), windows[:, 1:])


def batches(codes, size, seed=0):
    """Windows from random places of the text, for ever."""
    rng = np.random.default_rng(seed)
    windows = np.lib.stride_tricks.sliding_window_view(codes, CONTEXT + 1)
    while True:
        yield (windows[rng.integers(len(windows), size=size)],)


def entropies(codes, count):
    """Nats per character: of single characters, and of one given the one before it."""
    pairs = np.zeros((count, count))
    np.add.at(pairs, (codes[:-1], codes[1:]), 1.0)
    pairs /= pairs.sum()

    def entropy(p):
        return float(-np.sum(p[p > 0] * np.log(p[p > 0])))

    alone = entropy(pairs.sum(axis=1))
    return alone, entropy(pairs) - alone


def sample(p, alphabet, prompt, length, temperature=0.7, seed=0):
    """The prompt, and what the model writes after it, character by character."""
    rng = np.random.default_rng(seed)
    fast = cr.compile(scores)
    written = [alphabet.index(c) for c in prompt]
    window = np.zeros((1, CONTEXT), np.int64)
    while len(written) < length:
        last = written[-CONTEXT:]
        # Places after the last one hold anything: attention is causal and does not see them.
        window[0, : len(last)] = last
        share = cr.softmax(fast(p, window)[0, len(last) - 1].astype(float) / temperature)
        written.append(int(rng.choice(len(alphabet), p=share)))
    return "".join(alphabet[i] for i in written)


def main(epochs=5, steps=100):
    text = prose()
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(c) for c in text])
    known, unseen = np.split(codes, [len(codes) * 9 // 10])
    alone, given = entropies(codes, len(alphabet))
    print(f"{len(text)} characters, {len(alphabet)} kinds; nats per character of guesses")
    print(f"  that know nothing       {np.log(len(alphabet)):.3f}")
    print(f"  by how often each is    {alone:.3f}")
    print(f"  from the one before     {given:.3f}\n")

    held_out = np.lib.stride_tricks.sliding_window_view(unseen, CONTEXT + 1)[::CONTEXT]
    trained = learn.train(
        loss,
        init(np.random.default_rng(0), len(alphabet)),
        batches(known, size=16),
        optimiser=learn.clipped(learn.adamw(learn.cosine(4e-3, epochs * steps, 20)), norm=1.0),
        epochs=epochs,
        steps=steps,
        validation=(held_out,),
        progress=False,
    )
    history = trained.history
    print(f"{history}\n{sum(history.seconds):.1f} s of training\n")
    print(sample(trained.parameters, alphabet, "the gradient of ", 240))
    return {"alone": alone, "given": given, "history": history}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
