# SPDX-License-Identifier: Apache-2.0
"""`numascape-cc`, `numascape-c++` and `numascape-fc`: call clang or flang with the pass.

They take the compiler's own options and add the pass where something is compiled, and the stub (the
part that finds out whether the program is being recorded) where something is linked.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from numascape.errors import NumascapeError
from numascape.installation import installed_file


@dataclass(frozen=True)
class Compiler:
    """One of the commands: `variable` names the compiler to call, else the first of `names`."""

    command: str
    variable: str
    names: tuple[str, ...]
    package: str
    options: tuple[str, ...] = ()


CC = Compiler("numascape-cc", "NUMASCAPE_CLANG", ("clang-19",), "clang-19")
CXX = Compiler(
    "numascape-c++", "NUMASCAPE_CLANG", ("clang-19",), "clang-19", ("--driver-mode=g++",)
)
FC = Compiler("numascape-fc", "NUMASCAPE_FLANG", ("flang-new-19", "flang-19"), "flang-19")

# With one of these nothing is linked.
_NO_LINKING = frozenset(
    {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--precompile", "--analyze", "-###"}
)
# Options whose value is the next word, which must not be taken for a file.
_OBJECTS = frozenset({".o", ".a", ".so", ".lo", ".S", ".s"})
_WITH_VALUE = frozenset(
    {"-o", "-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-D", "-U", "-L"}
    | {"-l", "-x", "-arch", "-target", "-T", "-u", "-z", "-e", "-MF", "-MT", "-MQ", "-J", "-mllvm"}
    | {"-Xclang", "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xflang", "-module-dir", "-rpath"}
    | {"-framework", "--param"}
)


def command_line(compiler: Compiler, arguments: Sequence[str]) -> list[str]:
    """The compiler's own command line; NumascapeError when it, or the pass, is not installed."""
    program = _find(compiler)
    files = _files(arguments)
    if not files:
        return [program, *compiler.options, *arguments]
    added = [
        f"-fpass-plugin={_part('numascape_pass.so')}",
        # The pass must still see that a loop was one, and how many accesses it stood for.
        *("-mllvm", "-disable-loop-idiom-memset", "-mllvm", "-disable-loop-idiom-memcpy"),
    ]
    if all(Path(file).suffix in _OBJECTS for file in files):
        added = []  # a compiler warns of options that it has no use for
    line = [program, *compiler.options, *added, *arguments]
    if _NO_LINKING.isdisjoint(arguments) and "-r" not in arguments:
        line += ["-x", "none", str(_part("numascape-stub.o"))]
        if "-shared" in arguments:
            line.append("-Wl,-z,nodelete")  # the recorder keeps addresses in it
    return line


def _files(arguments: Sequence[str]) -> list[str]:
    """The input files: without one (`--version`) there is nothing to compile or link."""
    files = []
    skip = False
    for word in arguments:
        if not skip and (not word.startswith("-") or word == "-"):
            files.append(word)
        skip = not skip and word in _WITH_VALUE
    return files


def _find(compiler: Compiler) -> str:
    wanted = os.environ.get(compiler.variable)
    for name in (wanted,) if wanted else compiler.names:
        if found := shutil.which(name):
            return found
    if wanted:
        raise NumascapeError(f"{compiler.variable} is {wanted}, and there is no such program")
    raise NumascapeError(
        f"{compiler.names[0]} is not installed: install Debian's {compiler.package}, or set "
        f"{compiler.variable} to a compiler of LLVM 19"
    )


def _part(name: str) -> Path:
    try:
        return installed_file(f"_compiler/{name}")
    except NumascapeError as error:
        raise NumascapeError(
            "this installation of Numascape was built without LLVM 19: install Debian's "
            "llvm-19-dev, and Numascape again"
        ) from error


def _run(compiler: Compiler) -> NoReturn:
    try:
        line = command_line(compiler, sys.argv[1:])
        os.execv(line[0], line)
    except (NumascapeError, OSError) as error:
        print(f"{compiler.command}: {error}", file=sys.stderr)
    sys.exit(2)


def cc() -> NoReturn:
    """Compile C."""
    _run(CC)


def cxx() -> NoReturn:
    """Compile C++."""
    _run(CXX)


def fc() -> NoReturn:
    """Compile Fortran."""
    _run(FC)
