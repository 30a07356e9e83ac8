"""Our heads against the library: it reads what we write, and we read what it writes."""

import json

import pytest
import safetensors.torch
import torch
from safetensors import safe_open

from reference.checkpoint.boxes import as_bytes, of_shape
from reference.checkpoint.head import DTYPES, NAMES, InFile, in_order, make_head, parse_head

TENSORS = {f"of.{name}": torch.arange(6).reshape(2, 3).to(dtype) for name, dtype in DTYPES.items()}
TENSORS |= {"number": torch.tensor(2.5), "none": torch.zeros(0, 4), "é": torch.ones(3, dtype=torch.int8)}


def written(path):
    """A file of all types, as a save writes it: its head, and where its tensors begin."""
    about = {name: (NAMES[tensor.dtype], of_shape(tensor.shape)) for name, tensor in TENSORS.items()}
    head, begins = make_head(about, {"checkpoint": "1"})
    path.write_bytes(head + b"".join(as_bytes(TENSORS[name]).tobytes() for name in in_order(about)))
    return head, begins


def test_the_library_reads_what_we_write(tmp_path):
    head, _ = written(path := tmp_path / "ours.safetensors")
    found = safetensors.torch.load_file(path)
    assert set(found) == set(TENSORS) and len(head) % 8 == 0
    for name, tensor in TENSORS.items():
        assert found[name].dtype == tensor.dtype and found[name].shape == tensor.shape
        assert as_bytes(found[name]).tobytes() == as_bytes(tensor).tobytes()
    with safe_open(path, "pt") as file:
        assert file.metadata()["checkpoint"] == "1"
        assert json.loads(file.metadata()["DCP_SHARDING_INFO"])["number"] == {"saved_offsets": []}


def test_we_read_what_the_library_writes(tmp_path):
    safetensors.torch.save_file(TENSORS, path := tmp_path / "theirs.safetensors", {"a": "b"})
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    tensors, metadata = parse_head(content[8 : 8 + length])
    assert metadata == {"a": "b"} and set(tensors) == set(TENSORS)
    for name, (dtype, shape, begin, end) in tensors.items():
        assert DTYPES[dtype] == TENSORS[name].dtype and shape == tuple(TENSORS[name].shape)
        assert content[8 + length + begin : 8 + length + end] == as_bytes(TENSORS[name]).tobytes()


def test_each_tensor_begins_at_a_multiple_of_its_elements(tmp_path):
    head, begins = written(tmp_path / "file")
    tensors, _ = parse_head(head[8:])
    assert all(begins[name] % TENSORS[name].element_size() == 0 for name in TENSORS)
    assert all(begins[name] == len(head) + of.begin for name, of in tensors.items())
    assert tensors["number"] == InFile("F32", (), tensors["number"].begin, tensors["number"].begin + 4)


@pytest.mark.parametrize("text", [b"", b"[]", b'{"w": {"dtype": "F32"}}', b'{"w": 1}', b'{"w": {"dtype": "Q4"'])
def test_what_is_no_head_is_refused(text):
    with pytest.raises(ValueError, match="is not a safetensors file"):
        parse_head(text)


def test_a_type_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="cannot be read here: Q4"):
        parse_head(b'{"w": {"dtype": "Q4", "shape": [1], "data_offsets": [0, 1]}}')
