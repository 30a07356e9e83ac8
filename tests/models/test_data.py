"""The data: what is in it, that training and test parts are apart, and that nobody can change another's copy."""

import gzip
from types import SimpleNamespace

import pytest
import torch
from sklearn.datasets import load_digits

from reference.models import IGNORED, data, digits, text
from reference.models.data import NOVEL


def test_digits_are_those_of_scikit_learn_each_once():
    x, y = (torch.cat(parts) for parts in zip(digits(), digits(train=False)))
    assert x.shape == (1797, 64) and x.dtype == torch.float32 and x.is_contiguous() and y.dtype == torch.int64
    assert len(digits().y) == 1437 and set(digits(train=False).y.tolist()) == set(range(10))
    theirs, labels = load_digits(return_X_y=True)
    ours = sorted(zip((x * 16).tolist(), y.tolist()))
    assert ours == sorted(zip(theirs.tolist(), labels.tolist()))
    assert x.min() == 0 and x.max() == 1


def test_the_target_is_the_next_byte():
    x, y = text(length=10)
    assert bytes(x[0].tolist()) == b"Chapter 1\n" and bytes(y[0].tolist()) == b"hapter 1\n\n"
    assert torch.equal(x.flatten()[1:], y.flatten()[:-1])  # across windows, too


def test_the_parts_of_the_text_are_the_novel():
    novel = NOVEL.read_bytes()
    train, test = (bytes(text(50, part).x.flatten().tolist()) for part in (True, False))
    assert novel.startswith(train) and train + novel[len(train) : len(train) + 60].split(test[:20])[0] + test in novel
    assert 0 <= len(novel) - len(train) - len(test) <= 2 * 50
    assert novel.isascii() and b"\r" not in novel and b"Gutenberg" not in novel


def test_a_window_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match="window of 300000 bytes does not fit into the text's 269705"):
        text(300_000)


@pytest.mark.parametrize("make", [digits, text])
def test_what_one_caller_writes_no_other_sees(make):
    first, untouched = make(), make()
    first.y[:] = IGNORED
    assert torch.equal(first.x, untouched.x)  # x and y of a text do not share memory
    first.x[:] = 7
    assert torch.equal(make().x, untouched.x) and torch.equal(make().y, untouched.y)


def damaged_digits(folder, content):
    """What is told where scikit-learn's digits are this; None: there is no scikit-learn."""
    file = folder / "datasets" / "data" / "digits.csv.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(content or b"")
    return None if content is None else SimpleNamespace(origin=str(folder / "__init__.py"))


@pytest.mark.parametrize(
    "content, error, says",
    [
        (None, ModuleNotFoundError, "scikit-learn, which is missing: pip install"),
        (gzip.compress(b"1,2,3\n" * 500)[:-9], ValueError, "is damaged"),
        (gzip.compress(b"1,2,3\n" * 5), ValueError, r"has \(5, 3\) numbers, and not \(1797, 65\)"),
        (b"no gzip", OSError, "gzip"),
    ],
    ids=["missing", "cut short", "of another size", "another file"],
)
def test_digits_that_are_missing_or_damaged_are_told(monkeypatch, tmp_path, content, error, says):
    found = damaged_digits(tmp_path, content)
    monkeypatch.setattr("reference.models.data.find_spec", lambda name: found)
    with pytest.raises(error, match=says):
        data._digits.__wrapped__()
