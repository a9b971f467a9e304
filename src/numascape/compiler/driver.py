# SPDX-License-Identifier: Apache-2.0
"""`numascape-cc`, `numascape-c++` and `numascape-fc`: call clang or flang with the pass.

They take the compiler's own options. They add the pass when something is compiled, and the stub
(which finds out whether the program is being recorded) when something is linked.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.installation import installed_file

# typing has it too, but importing typing takes longer than everything else here, and this module is
# loaded for each file that is compiled.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


class Compiler:
    """A command; its compiler is that of the environment's `variable`, or one of `names`."""

    def __init__(
        self,
        command: str,
        variable: str,
        names: tuple[str, ...],
        package: str,
        options: tuple[str, ...] = (),
    ) -> None:
        self.command = command
        self.variable = variable
        self.names = names
        self.package = package
        self.options = options


CC = Compiler("numascape-cc", "NUMASCAPE_CLANG", ("clang-19",), "clang-19")
CXX = Compiler(
    "numascape-c++", "NUMASCAPE_CLANG", ("clang-19",), "clang-19", ("--driver-mode=g++",)
)
FC = Compiler("numascape-fc", "NUMASCAPE_FLANG", ("flang-new-19", "flang-19"), "flang-19")

# With one of these options, nothing is linked.
_NO_LINKING = frozenset(
    {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--precompile", "--analyze", "-###"}
)
_OBJECTS = frozenset({".o", ".a", ".so", ".lo", ".S", ".s"})
# A command that compiles only a header precompiles it.
_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".H", ".h++"})
_LARGEST_RESPONSE_FILE = 16 << 20
_DEEPEST_RESPONSE_FILE = 8
# Options whose value is the next word, which is then not a file.
_WITH_VALUE = frozenset(
    {"-o", "-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-D", "-U", "-L"}
    | {"-l", "-x", "-arch", "-target", "-T", "-u", "-z", "-e", "-MF", "-MT", "-MQ", "-J", "-mllvm"}
    | {"-Xclang", "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xflang", "-module-dir", "-rpath"}
    | {"-framework", "--param"}
)


def command_line(compiler: Compiler, arguments: Sequence[str]) -> list[str]:
    """The compiler's command line; NumascapeError if the compiler or the pass is not installed."""
    program = _find(compiler)
    words = _words(arguments)
    files = _files(words)
    if not files:
        return [program, *compiler.options, *arguments]
    added = [
        f"-fpass-plugin={_part('numascape_pass.so')}",
        # The pass must see loops that fill or copy memory, to know how many accesses they make.
        *("-mllvm", "-disable-loop-idiom-memset", "-mllvm", "-disable-loop-idiom-memcpy"),
    ]
    # A compiler warns about options that it does not need. In flang, this cannot be turned off.
    if all(_is_object(file) for file in files):
        added = []
    elif compiler is not FC:
        added = ["--start-no-unused-arguments", *added, "--end-no-unused-arguments"]
    line = [program, *compiler.options, *added, *arguments]
    if _NO_LINKING.isdisjoint(words) and "-r" not in words and not _precompiles(words, files):
        line += ["-x", "none", str(_part("numascape-stub.o"))]
    return line


def _words(arguments: Sequence[str], depth: int = 0) -> list[str]:
    """The arguments, where each response file (`@FILE`) is replaced by its content."""
    words = []
    for word in arguments:
        inside = _response(word[1:]) if word.startswith("@") else None
        if inside is None or depth == _DEEPEST_RESPONSE_FILE:
            words.append(word)
        else:
            words += _words(inside, depth + 1)
    return words


def _response(path: str) -> list[str] | None:
    """Return the words of a response file; None if the compiler would not accept it either."""
    import shlex  # seldom needed

    try:
        if Path(path).stat().st_size > _LARGEST_RESPONSE_FILE:
            return None
        return shlex.split(Path(path).read_text(errors="surrogateescape"))
    except (OSError, ValueError):
        return None


def _precompiles(words: Sequence[str], files: Sequence[str]) -> bool:
    """Whether a header is precompiled; then nothing is linked."""
    language = [word for word in words if word.endswith("-header")]
    return bool(language) or all(Path(file).suffix in _HEADERS for file in files)


def _is_object(file: str) -> bool:
    return Path(file).suffix in _OBJECTS or ".so." in Path(file).name


def _files(arguments: Sequence[str]) -> list[str]:
    """The input files; without one (`--version`) there is nothing to compile or link."""
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
        raise NumascapeError(f"{compiler.variable} is {wanted}, but there is no such program")
    raise NumascapeError(
        f"there is no command {compiler.names[0]}: it is in Debian's package {compiler.package}; "
        f"{compiler.variable} can name another compiler of LLVM 19"
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
