# SPDX-License-Identifier: Apache-2.0
"""Controls the program living.c through its standard input and output."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LAYERS = 4
PAGE = 4096


@dataclass(frozen=True)
class Area:
    """The place of a part of its memory, in bytes."""

    start: int
    pages: int


class Living:
    """The running program; its data is checked when it ends."""

    def __init__(self, program: Path, file: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [program, file, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.areas = {}
        for line in self._until_dot():
            name, start, pages = line.split()
            self.areas[name] = Area(int(start, 16), int(pages))

    @property
    def pid(self) -> int:
        return self.process.pid

    def where(self) -> dict[str, list[int]]:
        """The nodes of its pages by the name of the memory, as it prints them."""
        self._say("where")
        lines = [line.split(":") for line in self._until_dot()]
        return {name: [int(node) for node in nodes.split()] for name, nodes in lines}

    def passes(self) -> int:
        """The number of times that all its data was written and checked."""
        self._say("passes")
        return int(self._output.readline())

    def end(self) -> int:
        """Its exit status: 0 if no word of its data was lost."""
        self._say("end")
        self.process.communicate()
        return self.process.returncode

    @property
    def _output(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def _say(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def _until_dot(self) -> list[str]:
        return [line.rstrip("\n") for line in iter(self._output.readline, ".\n") if line]


def write_model(path: Path, pages_per_tensor: int) -> dict[str, int]:
    """Write a GGUF file with two tensors per layer; return the bytes of each tensor."""
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    values = np.arange(pages_per_tensor * PAGE // 4, dtype=np.float32)
    sizes = {}
    for layer in range(LAYERS):
        for name in (f"blk.{layer}.attn_q.weight", f"blk.{layer}.ffn_down.weight"):
            writer.add_tensor(name, values)
            sizes[name] = values.nbytes
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sizes
