# SPDX-License-Identifier: Apache-2.0
"""An uncompressed kernel: an emulated processor needs seconds to decompress it."""

from __future__ import annotations

import lzma
import struct
from pathlib import Path

import pyarrow as pa

# Offsets in the image: Documentation/arch/x86/boot.rst of Linux.
_SETUP_SECTORS = 0x1F1
_PAYLOAD = 0x248
_SECTOR = 512
# QEMU starts an uncompressed kernel at the address in this ELF note: XEN_ELFNOTE_PHYS32_ENTRY.
_ENTRY_NOTE = struct.pack("<3I4s", 4, 8, 18, b"Xen")


def decompressed(image: Path) -> Path:
    """The kernel beside its image, made once per checkout; the image if QEMU cannot start that."""
    kernel = image.with_name(image.name.replace("vmlinuz", "vmlinux"))
    if kernel.is_file():
        return kernel
    content = _content(image.read_bytes())
    if not content.startswith(b"\x7fELF") or _ENTRY_NOTE not in content:
        return image
    part = kernel.with_name(f"{kernel.name}.part")
    part.write_bytes(content)
    return part.replace(kernel)


def _content(image: bytes) -> bytes:
    """The kernel in the image; empty if it is compressed in another way than Debian's are."""
    offset, size = struct.unpack_from("<2I", image, _PAYLOAD)
    start = (image[_SETUP_SECTORS] + 1) * _SECTOR + offset
    payload = image[start : start + size - 4]  # its last word is the size of the kernel
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        return bytes(pa.CompressedInputStream(pa.BufferReader(payload), "zstd").read())
    if payload.startswith(b"\xfd7zXZ\0"):
        return lzma.decompress(payload, format=lzma.FORMAT_XZ)
    return b""
