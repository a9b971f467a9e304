# SPDX-License-Identifier: Apache-2.0
"""Tensors have the places of the formats' own libraries; a damaged header is no crash."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from numascape.live.files.layout import read_layout
from numascape.live.files.ranges import FileRange, layer_of

LAYERS = 3


def by_name(path: Path) -> dict[str, FileRange]:
    return {item.name: item for item in read_layout(path).ranges}


def tensors() -> dict[str, npt.NDArray[np.float32]]:
    random = np.random.default_rng(1)
    found = {"token_embd.weight": random.random((64, 33), np.float32)}
    for layer in range(LAYERS):
        found[f"blk.{layer}.attn_q.weight"] = random.random((17, 64), np.float32)
        found[f"blk.{layer}.ffn_down.weight"] = random.random((5, 64), np.float32)
    return found


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A GGUF file with a vocabulary, as the package gguf writes it."""
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_token_list([f"word {number}" for number in range(500)])
    writer.add_token_scores([float(number) for number in range(500)])
    writer.add_bool("flag", True)
    writer.add_array("nested", [1, 2, 3])
    for name, content in tensors().items():
        writer.add_tensor(name, content)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_tensors_of_gguf_are_where_its_own_reader_finds_them(model: Path) -> None:
    layout = read_layout(model)
    assert layout.format == "GGUF"
    found = {item.name: item for item in layout.ranges}
    read = gguf.GGUFReader(model).tensors
    assert set(found) == {tensor.name for tensor in read} == set(tensors())
    content = model.read_bytes()
    for tensor in read:
        item = found[tensor.name]
        assert item.start == tensor.data_offset
        # It reaches the next tensor: the padding is included.
        assert tensor.n_bytes <= item.end - item.start < tensor.n_bytes + 32
        assert content[item.start :][: tensor.n_bytes] == tensors()[tensor.name].tobytes()
    assert found["blk.2.attn_q.weight"].layer == 2
    assert found["token_embd.weight"].layer is None


def test_tensors_of_safetensors_are_where_their_bytes_are(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file(tensors(), path, metadata={"format": "np"})
    found = by_name(path)
    assert set(found) == set(tensors())
    content = path.read_bytes()
    for name, values in tensors().items():
        item = found[name]
        assert content[item.start : item.end] == values.tobytes()


def test_columns_of_parquet_are_where_arrow_finds_them(tmp_path: Path) -> None:
    path = tmp_path / "trips.parquet"
    table = pa.table(
        {
            "price": np.arange(3000.0),
            "city": [f"city {number % 7}" for number in range(3000)],
            "place": [{"x": number, "y": -number} for number in range(3000)],
        }
    )
    pq.write_table(table, path, row_group_size=1000)
    layout = read_layout(path)
    assert layout.format == "Parquet"
    found = {(item.name, item.start, item.end) for item in layout.ranges}
    footer = pq.ParquetFile(path).metadata
    expected = set()
    for group in range(footer.num_row_groups):
        for number in range(footer.num_columns):
            chunk = footer.row_group(group).column(number)
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            end = start + chunk.total_compressed_size
            expected.add((f"{chunk.path_in_schema}, row group {group}", start, end))
    assert found == expected
    assert len(expected) == 12


@settings(max_examples=200, deadline=None)
@given(at=st.integers(1, 600), value=st.binary(min_size=1, max_size=9))
def test_no_damage_of_a_footer_is_an_error(
    at: int, value: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}), path)
    content = bytearray(path.read_bytes())
    content[len(content) - at : len(content) - at + len(value)] = value
    path.write_bytes(content)
    for item in read_layout(path).ranges:
        assert 0 <= item.start < item.end <= len(content)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("blk.12.attn_q.weight", 12),
        ("model.layers.7.mlp.down_proj.weight", 7),
        ("transformer.h.31.attn.bias", 31),
        ("encoder.block.3.layer.1.weight", 3),
        ("output.weight", None),
        ("h.weight", None),
        ("blk.99999999999.x", None),
    ],
)
def test_layers_are_in_the_names_of_tensors(name: str, layer: int | None) -> None:
    assert layer_of(name) == layer


def gguf_header(*numbers: int, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<I", version) + b"".join(struct.pack("<Q", n) for n in numbers)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        gguf_header(1, 0, version=99),
        gguf_header(1 << 60, 0),
        gguf_header(0, 1 << 60),
        gguf_header(0, 1, 1 << 62),  # a key longer than the file
        gguf_header(0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 8, 1 << 40),  # too many strings
        gguf_header(0, 1, 1) + b"k" + struct.pack("<I", 77),  # no such type
        gguf_header(0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 9, 1) * 9,  # arrays of arrays
        gguf_header(1, 0, 1) + b"t" + struct.pack("<I", 1 << 30),  # too many dimensions
        b"\x7fELF\x02\x01" + b"\xff" * 100,
        b"\x7fELF\x02\x01" + b"\0" * 100,
        struct.pack("<Q", 1 << 60) + b"{}",
        struct.pack("<Q", 2) + b"{]",
        struct.pack("<Q", 40) + b"[" * 40,
        b"PAR1" + struct.pack("<I", 1 << 30) + b"PAR1",
        b"PAR1" + b"\x4c" * 40 + struct.pack("<I", 40) + b"PAR1",  # structures in structures
        b"PAR1\x49\xfc\xff\xff\xff\x7f" + struct.pack("<I", 6) + b"PAR1",  # too many row groups
    ],
)
def test_a_damaged_header_names_nothing(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert read_layout(tmp_path / "file").ranges == ()


@pytest.mark.parametrize(
    "offsets",
    [[5, 5], [7, 3], [-1, 4], [0, 1 << 70], [0.5, 1], "x", None, [0], [0, 1, 2], [True, "1"]],
)
def test_tensors_outside_their_file_are_left_out(offsets: object, tmp_path: Path) -> None:
    header = json.dumps({"a": {"data_offsets": offsets}, "b": {"data_offsets": [0, 4]}}).encode()
    path = tmp_path / "file"
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"1234")
    assert [item.name for item in read_layout(path).ranges] == ["b"]


def test_what_cannot_be_read_has_no_layout(tmp_path: Path) -> None:
    assert read_layout(tmp_path / "none").ranges == ()
    assert read_layout(tmp_path).ranges == ()


@settings(max_examples=200, deadline=None)
@given(at=st.integers(0, 400), value=st.binary(min_size=1, max_size=9))
@example(at=8, value=b"\0")  # no tensors
def test_no_damage_of_a_header_is_an_error(
    at: int, value: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    header = gguf_header(2, 1, 17) + b"general.alignment" + struct.pack("<II", 4, 32)
    for number in range(2):
        header += struct.pack("<Q", 1) + b"%d" % number
        header += struct.pack("<IQIQ", 1, 4, 0, 32 * number)
    content = bytearray(header.ljust(512, b"\0"))
    content[at : at + len(value)] = value
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    path.write_bytes(content)
    for item in read_layout(path).ranges:
        assert 0 <= item.start < item.end <= len(content)
