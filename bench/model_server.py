# SPDX-License-Identifier: Apache-2.0
"""A small language model with random weights, and llama.cpp's server, built from its sources."""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

import gguf
import numpy as np

# Its source package has llama.cpp's sources.
PACKAGE: Final = "llama-cpp-python==0.3.36"
LAYERS: Final = 4
WIDTH, INNER, WORDS = 512, 1408, 1024
# Emulated processors execute some instructions of AVX2 wrongly (see CONTRIBUTING.md).
_OPTIONS: Final = {
    "CMAKE_BUILD_TYPE": "Release",
    "BUILD_SHARED_LIBS": "OFF",
    "GGML_NATIVE": "OFF",
    "GGML_SSE42": "ON",
    "GGML_AVX": "OFF",
    "GGML_AVX2": "OFF",
    "GGML_BMI2": "OFF",
    "GGML_FMA": "OFF",
    "GGML_F16C": "OFF",
    "GGML_OPENMP": "OFF",
    "LLAMA_OPENSSL": "OFF",
    "LLAMA_BUILD_TESTS": "OFF",
}


def model_server(folder: Path) -> Path:
    """The server, built once in this folder, which takes about ten minutes."""
    build = folder / "build"
    server = build / "bin/llama-server"
    if not server.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        sources = _sources(folder)
        words = [f"-D{name}={value}" for name, value in _OPTIONS.items()]
        configure = ["cmake", "-G", "Ninja", "-S", str(sources), "-B", str(build), *words]
        subprocess.run(configure, check=True)
        compile_ = ["cmake", "--build", str(build), "--target", "llama-server"]
        subprocess.run(compile_, check=True)
    return server


def _sources(folder: Path) -> Path:
    with tempfile.TemporaryDirectory(dir=folder) as fetched:
        words = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", fetched]
        subprocess.run([sys.executable, "-m", "pip", "download", *words, PACKAGE], check=True)
        (archive,) = Path(fetched).glob("*.tar.gz")
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
        return folder / archive.name.removesuffix(".tar.gz") / "vendor/llama.cpp"


def write_random_model(path: Path) -> None:
    """Write a model of about 55 MB with the architecture of Llama; always the same one."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(8)
    writer.add_head_count_kv(8)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // 8)
    writer.add_vocab_size(WORDS)
    _add_words(writer)
    _add_weights(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_words(writer: gguf.GGUFWriter) -> None:
    kinds = gguf.TokenType
    words = [("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)]
    words += [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)]
    words += [(f"\N{LOWER ONE EIGHTH BLOCK}w{k}", kinds.NORMAL) for k in range(WORDS - len(words))]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([word for word, _ in words])
    writer.add_token_scores([-float(number) for number in range(WORDS)])
    writer.add_token_types([kind for _, kind in words])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)


def _add_weights(writer: gguf.GGUFWriter) -> None:
    random = np.random.default_rng(7)

    def add(name: str, *shape: int) -> None:
        values = random.standard_normal(shape) * 0.05 if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(f"{name}.weight", values.astype(np.float32))

    add("token_embd", WORDS, WIDTH)
    add("output_norm", WIDTH)
    add("output", WORDS, WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        add(f"{block}.attn_norm", WIDTH)
        add(f"{block}.ffn_norm", WIDTH)
        for name in ("q", "k", "v", "output"):
            add(f"{block}.attn_{name}", WIDTH, WIDTH)
        add(f"{block}.ffn_gate", INNER, WIDTH)
        add(f"{block}.ffn_up", INNER, WIDTH)
        add(f"{block}.ffn_down", WIDTH, INNER)
