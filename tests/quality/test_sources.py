# SPDX-License-Identifier: Apache-2.0
"""Every source file keeps the project's rules: format, lint, types, licence, lengths."""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
from functools import cache
from pathlib import Path

import pytest

from quality.cpp_functions import declared_functions, lengths_of_functions
from quality.external import ROOT, expect_success

SCRIPTS = Path(sysconfig.get_path("scripts"))
FOLDERS = ("src", "include", "integrations", "examples", "bench", "tests", "cmake")
# Made by tools, or by others.
NOT_OURS = {"node_modules", "build", "dist", "__pycache__", ".mypy_cache"}
COMMENT = {
    **dict.fromkeys((".py", ".pyi", ".cmake", ".sh"), "#"),
    **dict.fromkeys((".c", ".cpp", ".h", ".hpp", ".rs", ".ts", ".tsx"), "//"),
    ".f90": "!",
}
BLIND_PROGRAMS = ROOT / "tests" / "integration" / "findings" / "blind"
VERBS = {"api", "cli", "commands"}
# Others chose the parameters of these functions: the kernel, DynamoRIO, elfutils.
GIVEN_PARAMETERS = {
    "src/native/os/arch/x86_64/processor.h call",
    "src/native/binary-recorder/arch/x86_64/instrument.cpp insert",
    "src/native/binary-recorder/injector_calls.cpp __real_dynamorio_syscall",
    "src/native/binary-recorder/injector_calls.cpp __wrap_dynamorio_syscall",
    "src/native/symbols/debug_files.cpp find_local_debug_file",
    "src/native/symbols/debug_files.h find_local_debug_file",
}


def sources(*suffixes: str) -> list[Path]:
    return sorted(
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in suffixes and not NOT_OURS & set(path.relative_to(ROOT).parts)
    )


def test_python_is_linted() -> None:
    expect_success(SCRIPTS / "ruff", "check", "--no-cache", ".")


def test_python_is_formatted() -> None:
    expect_success(SCRIPTS / "ruff", "format", "--check", "--no-cache", ".")


def test_python_is_typed() -> None:
    expect_success(sys.executable, "-m", "mypy")


def test_c_and_cpp_are_formatted() -> None:
    files = sources(".c", ".cpp", ".h", ".hpp")
    assert files
    expect_success(SCRIPTS / "clang-format", "--dry-run", "-Werror", *files)


def test_viewer_is_typed_and_formatted() -> None:
    expect_success("npm", "run", "--silent", "check", folder=ROOT / "src" / "viewer")


def test_viewer_passes_its_own_tests() -> None:
    expect_success("npm", "test", "--silent", folder=ROOT / "src" / "viewer")


def test_every_source_names_the_licence() -> None:
    def named(path: Path) -> bool:
        start = path.read_text().split("\n", 2)[:2]
        # A header for any version of C has the older kind of comment.
        comments = (COMMENT[path.suffix], "/*") if path.suffix == ".h" else (COMMENT[path.suffix],)
        lines = tuple(f"{comment} SPDX-License-Identifier: Apache-2.0" for comment in comments)
        return any(line.startswith(lines) for line in start)

    assert [str(path.relative_to(ROOT)) for path in sources(*COMMENT) if not named(path)] == []


def test_lock_files_name_no_server() -> None:
    """Packages come from whatever registry the user's npm is set to."""
    locks = [path for path in sources(".json") if path.name == "package-lock.json"]
    assert locks
    assert [str(path) for path in locks if "://" in path.read_text()] == []


def test_files_have_at_most_400_lines() -> None:
    """In every language, with comments and empty lines. A header and its source are two files."""
    long = [path for path in sources(*COMMENT) if path.read_text().count("\n") > 400]
    assert [str(path.relative_to(ROOT)) for path in long] == []


@pytest.mark.parametrize("folder", ["src/numascape", "bench"])
def test_a_name_has_one_meaning(folder: str) -> None:
    """The names of classes and types. Names that begin with `_` belong to one file."""
    meanings: dict[str, set[str]] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                meanings.setdefault(node.name, set()).add(f"class in {path.relative_to(ROOT)}")
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if name[0].isupper() and not name.isupper():
                    meanings.setdefault(name, set()).add(ast.unparse(node.value))
    assert len(meanings) > 20
    assert {name: found for name, found in meanings.items() if len(found) > 1} == {}


def test_a_public_function_is_of_one_package() -> None:
    """Verbs are exempt: a command, the library's function for it, and that of the API share a name.

    Files of one package may have functions of one name, such as `diagnose` of each diagnosis.
    """
    packages: dict[str, set[str]] = {}
    library = ROOT / "src" / "numascape"
    for path in sorted(library.rglob("*.py")):
        package = path.relative_to(library).with_suffix("").parts[0]
        for node in _tree(path).body if package not in VERBS else ():
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                packages.setdefault(node.name, set()).add(package)
    assert packages["diagnose"] == {"findings"}
    assert {name: found for name, found in packages.items() if len(found) > 1} == {}


def test_what_the_viewer_exports_and_a_type_of_native_headers_has_one_meaning() -> None:
    def places(files: list[Path], declaration: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path in files:
            for name in re.findall(declaration, path.read_text(), re.M):
                found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
        return found

    native = [path for path in sources(".h") if ROOT / "src" / "native" in path.parents]
    for files, declaration in (
        (sources(".ts", ".tsx"), r"^export (?:interface|type|class|function) (\w+)"),
        (native, r"^(?:class|struct|enum class) (\w+)(?: final)?(?: : [^{;]*)? \{"),
    ):
        types = places(files, declaration)
        assert len(types) > 50
        assert {name: found for name, found in types.items() if len(found) > 1} == {}


def test_functions_of_python_have_at_most_60_lines() -> None:
    """The lines of the body, without the options of a command and without the docstring."""
    long = [
        place
        for place, function in _functions().items()
        if (function.end_lineno or 0) - _begin_of_body(function) >= 60
    ]
    assert long == []


def test_functions_of_c_and_cpp_have_at_most_60_lines() -> None:
    """The lines of the whole function. The programs of findings are exempt: others wrote them."""
    functions = [
        (path, begin, lines)
        for path in sources(".c", ".cpp", ".h", ".hpp")
        if BLIND_PROGRAMS not in path.parents
        for begin, lines in lengths_of_functions(path.read_bytes())
    ]
    assert len(functions) > 2000
    assert [
        f"{path.relative_to(ROOT)}:{begin} has {lines} lines"
        for path, begin, lines in functions
        if lines > 60
    ] == []


def test_lengths_of_functions_of_cpp_are_found() -> None:
    """This includes members, lambdas, and code between lines of the preprocessor."""
    text = b"""\
        namespace one {
        class Numbers {
            int first() {
                return 1;
            }
            int second();
        };
        #ifdef LONG
        template <typename T>
        auto find(T first) {
            return [first] {
                return first;
            };
        }
        #endif
        }
    """
    assert lengths_of_functions(text) == [(3, 3), (10, 5), (11, 3)]


def test_functions_of_python_have_at_most_six_parameters() -> None:
    """Options that are given by name, and options of a command, do not count."""

    def is_option(annotation: ast.expr | None) -> bool:
        text = ast.unparse(annotation) if annotation is not None else ""
        return text.startswith("Annotated[") or text.endswith(("Option", "Argument"))

    many = []
    for place, function in _functions().items():
        parameters = [*function.args.posonlyargs, *function.args.args]
        counted = [p.arg for p in parameters if p.arg != "self" and not is_option(p.annotation)]
        if len(counted) > 6:
            many.append(place)
    assert many == []


def test_tests_sleep_only_while_they_wait_for_a_condition() -> None:
    """A test that sleeps for a fixed time depends on how fast the machine is."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line in fixed_delays(_tree(path))
    ]
    assert found == []


def test_fixed_delays_are_found() -> None:
    text = """
import threading, time
from time import sleep
while not condition():
    time.sleep(0.1)
time.sleep(0.1)
for _ in range(3):
    sleep(0.1)
threading.Timer(0.5, end).start()
def wait():
    while True:
        def inner():
            sleep(1)
"""
    assert fixed_delays(ast.parse(text)) == [6, 8, 9, 13]


def fixed_delays(node: ast.AST, waits: bool = False) -> list[int]:
    """The lines that sleep outside of every `while` loop, or that start a timer."""
    found = []
    for child in ast.iter_child_nodes(node):
        name = ast.unparse(child.func).rpartition(".")[2] if isinstance(child, ast.Call) else ""
        if isinstance(child, ast.Call) and (name == "Timer" or (name == "sleep" and not waits)):
            found.append(child.lineno)
        begins = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        found += fixed_delays(child, isinstance(child, ast.While) or (waits and not begins))
    return found


def test_functions_of_c_and_cpp_have_at_most_six_parameters() -> None:
    many = {
        f"{path.relative_to(ROOT)} {name}"
        for path in sources(".c", ".cpp", ".h", ".hpp")
        for name, parameters in declared_functions(path.read_bytes())
        if parameters > 6
    }
    assert many == GIVEN_PARAMETERS


def test_declared_functions_of_cpp_are_found() -> None:
    """Functions after macros, constructors and lambdas; no types, no uses of macros."""
    text = b"""
        class Numbers {
            explicit Numbers(int first, int second = 0);
            template <typename T> T* find(T first, const int (&rest)[2], ...) const noexcept;
        };
        HIDDEN int hidden(int one) { return [](int a, int b) { return a + b; }(one, 1); }
        FOLLOWED(int, read, SYS_read, (int file, void* into), file, into)
        int (*pointer)(int, int, int);
    """
    assert declared_functions(text) == [("Numbers", 2), ("find", 3), ("hidden", 1), ("", 2)]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _functions() -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions of Python, by file, line and name."""
    return {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": node
        for path in sources(".py")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def _begin_of_body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    documented = ast.get_docstring(function) is not None and len(function.body) > 1
    return function.body[documented].lineno
