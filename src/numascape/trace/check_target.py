# SPDX-License-Identifier: Apache-2.0
"""Whether a trace, or a rank's part of a job, can be written: checked before the program runs."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.trace.info import FILE_NAME, JOB_FILE, JobPart
from numascape.trace.job import part_folder


def check_replaceable(target: Path) -> None:
    """Raise NumascapeError unless `target` is free, a trace or a job, and its parent a folder."""
    if not target.parent.is_dir():
        raise NumascapeError(f"cannot write {target}: {target.parent} is not a folder")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise NumascapeError(f"cannot write {target}: no permission to write in {target.parent}")
    known = any((target / name).is_file() for name in (FILE_NAME, JOB_FILE))
    if (target.exists() or target.is_symlink()) and not known:
        raise NumascapeError(f"{target} exists and is not a trace: choose another name with -o")


def check_job(job: Path, part: JobPart) -> None:
    """Raise NumascapeError unless a rank can write its part to the folder `job`.

    If the launcher does not distinguish runs, the rank's part of an earlier run is removed. If this
    rank died, the earlier part would be mistaken for one of this run.
    """
    if job.is_dir() and not job.is_symlink() and _holds_parts_only(job):
        if not os.access(job, os.W_OK | os.X_OK):
            raise NumascapeError(f"cannot write {job}: no permission to write in this folder")
    else:
        check_replaceable(job)
    if not part.job:
        remove_part(part_folder(job, part.rank))


def _holds_parts_only(job: Path) -> bool:
    """Whether another rank, which has not written job.json yet, may have made the folder."""
    beginnings = ("rank=", ".rank=", f".{JOB_FILE}.")
    return all(entry.name.startswith(beginnings) for entry in job.iterdir())


def remove_part(folder: Path) -> None:
    """Remove a part at once: other processes see all of it, or nothing."""
    away = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.partial")
    with suppress(FileNotFoundError, NotADirectoryError):
        folder.rename(away)
    shutil.rmtree(away, ignore_errors=True)
