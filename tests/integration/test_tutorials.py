# SPDX-License-Identifier: Apache-2.0
"""The commands of tutorials and how-to pages work as written, and print what is shown."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sysconfig
from contextlib import suppress
from pathlib import Path

import pytest

from integration.loaded_command import run_loaded
from quality.external import ROOT

TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
# This one shows only commands for images that a test does not have.
NOT_RUN = ("in-containers",)
PAGES = [
    *TUTORIALS,
    *(page for page in sorted((ROOT / "docs/how-to").glob("*.md")) if page.stem not in NOT_RUN),
]


def commands_of(text: str) -> list[tuple[str, list[str]]]:
    """Each command after `$`, with the lines of output below it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE):
        lines = [line[4:].rstrip() for line in block.splitlines()]
        if not lines[0].startswith("$ "):
            continue  # for another machine
        for line in lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def files_of(text: str) -> dict[str, str]:
    """Programs whose first line is a comment with the name of their file, and what follows it."""
    found = re.findall(r"```\w+\n([#!] (\S+\.\w+)\n.*?)```", text, re.DOTALL)
    return {name: content for content, name in found}


def words(line: str) -> list[str]:
    """The words of a line.

    Numbers depend on the run, how many accesses a library needs depends on the processor, and
    columns depend on their widths.
    """
    return re.sub(r"[\d.,]+(?: [kMG]\b)?", "N", line).split()


# Open MPI starts programs of root, and more ranks than CPUs, only if it is told to.
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def needs_mpi() -> None:
    if shutil.which("mpirun") is None or not (ROOT / "examples/build/halo").exists():
        pytest.skip("MPI is not installed")


def run(
    command: str, folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run it as a shell does. A single command of ours runs with its modules already loaded."""
    program, *arguments = shlex.split(command)
    if program == "numascape" and not re.search(r"[|&;<>$`*?~]", command):
        return run_loaded(arguments, environment, folder=folder)
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def end_left_processes(folder: Path) -> None:
    """End what a page started and did not end, because one of its commands failed."""
    for file in folder.glob("*.pid"):
        with suppress(ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("tutorial", PAGES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_commands_print_what_is_shown(tutorial: Path, tmp_path: Path) -> None:
    commands = commands_of(tutorial.read_text())
    if any(command.startswith("mpirun") for command, _ in commands):
        needs_mpi()
    folder = tmp_path / "clone/examples/build"
    shutil.copytree(ROOT / "examples/build", folder)
    for name, content in files_of(tutorial.read_text()).items():
        (folder / name).write_text(content)
    environment = {
        **os.environ,
        **MPI,
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]),
        "COLUMNS": "120",
    }
    # The examples are built, and this is their folder.
    commands = [one for one in commands if not one[0].startswith(("make ", "cd "))]
    assert commands
    try:
        for command, shown in commands:
            result = run(command, folder, environment)
            assert result.returncode == 0, f"{command}\n{result.stderr}"
            printed = [words(line) for line in (result.stdout + result.stderr).splitlines()]
            assert [line for line in shown if words(line) not in printed] == [], result.stdout
    finally:
        end_left_processes(folder)


def test_cpp_lines_of_tutorials_are_those_of_the_examples() -> None:
    example = " ".join((ROOT / "examples/containers/containers.cpp").read_text().split())
    blocks = [
        part
        for tutorial in TUTORIALS
        for block in re.findall(r"```cpp\n(.*?)```", tutorial.read_text(), re.DOTALL)
        for part in block.split("\n\n")
    ]
    assert blocks
    assert [part for part in blocks if " ".join(part.split()) not in example] == []
