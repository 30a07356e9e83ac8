"""The rule about labels in the docstrings of modules, on planted ones."""

import pytest


@pytest.fixture
def told(tmp_path, ci):
    """told(docstring): what the rule says of a module that has it."""
    folder = tmp_path / "reference/zero"
    folder.mkdir(parents=True)

    def told(docstring):
        (folder / "stage.py").write_text(f'"""Stages: what each rank keeps.\n\n{docstring}"""\n')
        return [fault.split(": write")[0] for fault in ci("labels").faults(tmp_path)]

    return told


@pytest.mark.parametrize(
    "docstring, label",
    [
        ("Known     A shard is known to its rank.\n", "Known"),
        ("Idea      Cut it.\nIn NCCL   It is a ring.\n", "In NCCL"),
        ("Agreement All ranks have one order, that of the\n          list.\n", "Agreement"),
        ("Papers    Rajbhandari et al.,\n          2020.\n", "Papers"),
        ("1F1B      pays more.\n", "1F1B"),
        ("variance      of each element\n              of C(x)\n", "variance"),
    ],
)
def test_other_labels_are_refused(told, docstring, label):
    line = 3 + docstring.split(label)[0].count("\n")
    nine = "Idea, Before, After, Sends, Price, Exact, Left out, Source, Try"
    assert told(docstring) == [f"reference/zero/stage.py, line {line}: {label!r} is none of the labels {nine}"]


@pytest.mark.parametrize(
    "docstring",
    [
        "Idea      Cut it.\nLeft out  Nothing,\n          or so.\n",
        "A sentence that goes on\nin the next line, with a formula below:\n\n              a = b     for all b\n",
        "    whole   a list, whose lines\n            are indented\n    half    is none of labels\n",
        "Try       stages(comm)\n",
        "",
    ],
)
def test_the_nine_sentences_and_lists_are_fine(told, docstring):
    assert told(docstring) == []


def test_only_modules_have_labels(tmp_path, ci):
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference/stage.py").write_text('x = """\n\nKnown     no docstring\n"""\n')
    assert ci("labels").faults(tmp_path) == []
