# SPDX-License-Identifier: Apache-2.0
"""DynamoRIO is built again if the patches change it, and not if only their words change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from quality.external import ROOT

PATCHES = sorted((ROOT / "cmake/dynamorio/patches").glob("*.patch"))
FIRST = """--- a/core/one.c
+++ b/core/one.c
@@ -1 +1 @@
-int one = 0;
+int one = 1;
"""
SECOND = FIRST.replace("one", "two")


def hash_of(folder: Path, *patches: str) -> subprocess.CompletedProcess[str]:
    """The hash as CMake prints it; each patch is a file of its own."""
    files = []
    for number, patch in enumerate(patches):
        files.append(folder / f"{number}.patch")
        files[-1].write_text(patch)
    script = folder / "hash.cmake"
    script.write_text(
        f"include({ROOT}/cmake/PatchesHash.cmake)\n"
        f"numascape_hash_of_patches(hash {' '.join(map(str, files))})\n"
        "message(STATUS ${hash})\n"
    )
    return subprocess.run(
        ["cmake", "-P", script], capture_output=True, text=True, cwd=folder, check=False
    )


def test_words_do_not_count(tmp_path: Path) -> None:
    expected = hash_of(tmp_path, FIRST + SECOND).stdout
    assert expected.startswith("-- ")
    for words in ("Count one.\n\n", "Count; [one] \\ ${words}.\n- Then two.\n\n"):
        assert hash_of(tmp_path, words + FIRST + SECOND).stdout == expected, words


@pytest.mark.parametrize(
    "patches",
    [
        (FIRST.replace("= 1", "= 2") + SECOND,),
        (FIRST + SECOND.replace("= 1", "= 2"),),
        (SECOND,),
        (FIRST,),
        (FIRST + SECOND, SECOND),
        (SECOND + FIRST,),
    ],
)
def test_each_change_counts(tmp_path: Path, patches: tuple[str, ...]) -> None:
    assert hash_of(tmp_path, *patches).stdout != hash_of(tmp_path, FIRST + SECOND).stdout


def test_a_patch_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    refused = hash_of(tmp_path, "Only words.\n")
    assert refused.returncode != 0
    assert "0.patch: no line begins with `--- `" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("path", PATCHES, ids=[path.name for path in PATCHES])
def test_a_patch_begins_with_its_reason(path: Path) -> None:
    reason, _, _ = path.read_text().partition("\n--- ")
    subject, empty, *why = reason.splitlines()
    assert subject.endswith(".")
    assert empty == ""
    assert why
