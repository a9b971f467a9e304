# SPDX-License-Identifier: Apache-2.0
"""Files and folders that appear under their name only when they are complete."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def _beside(target: Path) -> Path:
    return target.parent / f".{target.name[:100]}.{secrets.token_hex(4)}.partial"


@contextmanager
def replacing_file(target: Path) -> Iterator[Path]:
    """A path beside `target` to write to. It is renamed to `target` when the block succeeds.

    Otherwise it is removed, and a former `target` stays as it was. A device or a pipe, such as
    /dev/null, is not replaced, but written to; a link stays, and its file is replaced. Raises
    OSError.
    """
    if target.exists() and not target.is_file() and not target.is_dir():
        yield target
        return
    if target.is_symlink():
        target = target.resolve()
    beside = _beside(target)
    try:
        beside.open("xb").close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        yield beside
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """A new folder beside `target` to fill. It is renamed to `target` when the block succeeds.

    Otherwise it is removed, and a former `target` stays as it was. Raises OSError.
    """
    beside = _beside(target)
    beside.mkdir()
    try:
        yield beside
        _swap(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _swap(new: Path, target: Path) -> None:
    if not target.exists():
        new.rename(target)
        return
    # A folder cannot be renamed onto a full one, so the former one is moved away first.
    former = _beside(target)
    target.rename(former)
    try:
        new.rename(target)
    except OSError:
        former.rename(target)
        raise
    shutil.rmtree(former, ignore_errors=True)
