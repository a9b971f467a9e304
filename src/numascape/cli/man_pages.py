# SPDX-License-Identifier: Apache-2.0
"""Writes the man pages: python -m numascape.cli.man_pages FOLDER.

One page for each verb, and numascape.1 with a list of them. They are made from the definitions of
the command line, which `numascape VERB --help` prints too. The three compiler commands have one
page, which is written here, because their options are those of the compilers.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

from numascape.cli.app import build_app
from numascape.installation import installed_version

_COMPILERS: Final = {"numascape-cc": "clang", "numascape-c++": "clang++", "numascape-fc": "flang"}


def _escaped(text: str) -> str:
    """Text that roff prints as it is."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def _markup(text: str) -> str:
    """Text with `code` in bold."""
    return re.sub(r"`([^`]*)`", r"\\fB\1\\fR", _escaped(text))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        yield ".PP"
        yield _markup(" ".join(paragraph.split()))


def _value(parameter: Any) -> str:
    """The placeholder of an option's value; empty if the option has no value."""
    if getattr(parameter, "is_flag", False) or getattr(parameter, "count", False):
        return ""
    name = parameter.metavar or parameter.name.upper().replace("_", "-")
    return rf" \fI{_escaped(name)}\fR"


def _option(parameter: Any) -> Iterator[str]:
    names = ", ".join(
        rf"\fB{_escaped(name)}\fR" for name in [*parameter.opts, *parameter.secondary_opts]
    )
    yield ".TP"
    yield names + _value(parameter)
    yield _markup(parameter.help or "")


def _synopsis(name: str, command: Any) -> str:
    words = [rf"\fB{_escaped(name)}\fR"]
    if any(p.param_type_name == "option" for p in command.params):
        words.append(r"[\fIoptions\fR]")
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            metavar = _escaped(parameter.metavar or parameter.name.upper())
            words.append(rf"\fI{metavar}\fR" if parameter.required else rf"[\fI{metavar}\fR]")
    if hasattr(command, "commands"):
        words.append(r"\fIverb\fR ...")
    return " ".join(words)


def man_page(name: str, command: Any) -> str:
    """The page of a command, with its name as typed: "numascape machine show"."""
    example = re.search(r"Example: `([^`]*)`", command.help or "")
    text = re.sub(r"\n*Example: `[^`]*`", "", inspect.cleandoc(command.help or ""))
    first, _, rest = text.partition("\n")
    title = name.replace(" ", "-")
    lines = [
        '.\\" Made from the definitions of the command line; do not edit.',
        f'.TH {title.upper()} 1 "" "Numascape {installed_version()}" "Numascape"',
        ".SH NAME",
        rf"{_escaped(title)} \- {_markup(first.strip().rstrip('.'))}",
        ".SH SYNOPSIS",
        _synopsis(name, command),
    ]
    if rest.strip():
        lines += [".SH DESCRIPTION", *_paragraphs(rest)]
    visible = [p for p in command.params if not getattr(p, "hidden", False)]
    arguments = [p for p in visible if p.param_type_name == "argument" and p.help]
    options = [p for p in visible if p.param_type_name == "option"]
    if arguments:
        lines.append(".SH ARGUMENTS")
        for argument in arguments:
            metavar = _escaped(argument.metavar or argument.name.upper())
            lines += [".TP", rf"\fI{metavar}\fR", _markup(argument.help)]
    if options:
        lines.append(".SH OPTIONS")
        for option in options:
            lines += _option(option)
    verbs = getattr(command, "commands", {})
    if verbs:
        lines.append(".SH VERBS")
        for verb, inner in verbs.items():
            summary = inspect.cleandoc(inner.help or "").partition("\n")[0]
            lines += [".TP", rf"\fB{_escaped(name)} {verb}\fR", _markup(summary)]
    if example:
        lines += [".SH EXAMPLE", ".nf", rf"\fB{_escaped(example[1])}\fR", ".fi"]
    if name == "numascape":
        lines += [
            ".SH EXIT STATUS",
            "0 for success, 2 for an error that the user can correct (one line on standard error),",
            "130 after an interruption. \\fBnumascape record\\fR and \\fBnumascape run\\fR",
            "end with the status of the program.",
        ]
    else:
        lines += [".SH SEE ALSO", r"\fBnumascape\fR(1)"]
    return "\n".join(lines) + "\n"


def _compiler_page() -> str:
    synopsis = [
        rf"\fB{_escaped(command)}\fR [\fIoptions of {compiler}\fR]"
        for command, compiler in _COMPILERS.items()
    ]
    names = ", ".join(_escaped(command) for command in _COMPILERS)
    return "\n".join(
        [
            f'.TH NUMASCAPE-CC 1 "" "Numascape {installed_version()}" "Numascape"',
            ".SH NAME",
            rf"{names} \- compile programs whose accesses are recorded at a low cost",
            ".SH SYNOPSIS",
            *(".nf", *synopsis, ".fi"),
            ".SH DESCRIPTION",
            "Each command calls clang 19 or flang 19 with the same options, and adds code that",
            "counts accesses. Use it in place of the compiler, for example as \\fBCC\\fR.",
            "The program runs as usual. \\fBnumascape record\\fR records it at a lower cost than",
            "other programs.",
            ".SH ENVIRONMENT",
            ".TP",
            r"\fBNUMASCAPE_CLANG\fR, \fBNUMASCAPE_FLANG\fR",
            r"Other compilers of LLVM 19 than \fBclang\-19\fR and \fBflang\-new\-19\fR.",
            ".SH EXIT STATUS",
            "That of the compiler; 2 if the compiler is not installed.",
            ".SH SEE ALSO",
            r"\fBnumascape\-record\fR(1)",
            "",
        ]
    )


def man_pages() -> dict[str, str]:
    """The pages by the names of their files."""
    root: Any = get_command(build_app())
    pages = {"numascape.1": man_page("numascape", root)}
    for verb, command in root.commands.items():
        pages[f"numascape-{verb}.1"] = man_page(f"numascape {verb}", command)
        for inner, inner_command in getattr(command, "commands", {}).items():
            name = f"numascape {verb} {inner}"
            pages[f"numascape-{verb}-{inner}.1"] = man_page(name, inner_command)
    first, *others = _COMPILERS
    pages[f"{first}.1"] = _compiler_page()
    return pages | {f"{command}.1": f".so man1/{first}.1\n" for command in others}


def main() -> None:
    """Write the pages into the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("numascape*.1"):
        old.unlink()
    for name, page in man_pages().items():
        (folder / name).write_text(page)


if __name__ == "__main__":
    main()
