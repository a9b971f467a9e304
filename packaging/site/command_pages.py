# SPDX-License-Identifier: Apache-2.0
"""A page for each verb, from the definitions that `numascape VERB --help` and the man pages use."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from numascape.cli.app import build_app


def command_pages() -> dict[str, str]:
    """The pages by the names of their files, without suffix; `overview` lists them."""
    root: Any = get_command(build_app())
    commands = dict(_commands("numascape", root))
    rows = [
        f"| [{name}]({_file_of(name)}.md) | {_cell(_summary(command))} |"
        for name, command in commands.items()
    ]
    head = [
        "# Commands",
        "",
        "Each page has all arguments and options of a command, as `--help` prints them.",
        "The man page has the same text: `man numascape-record`.",
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    pages = {_file_of(name): _page(name, command) for name, command in commands.items()}
    return {"overview": "\n".join([*head, *rows, ""]), **pages}


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    for verb, inner in getattr(command, "commands", {}).items():
        yield f"{name} {verb}", inner
        yield from _commands(f"{name} {verb}", inner)


def _file_of(name: str) -> str:
    return name.replace(" ", "-")


def _summary(command: Any) -> str:
    return inspect.cleandoc(command.help or "").partition("\n")[0]


def _cell(text: str) -> str:
    """Text in a table."""
    return " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;")


def _page(name: str, command: Any) -> str:
    text = inspect.cleandoc(command.help or "")
    example = re.search(r"Example: (`[^`]*`)", text)
    text = re.sub(r"\n*Example: `[^`]*`", "", text)
    parts = [f"# {name}", "", f"    {_synopsis(name, command)}", "", text.replace("<", "&lt;")]
    visible = [p for p in command.params if not getattr(p, "hidden", False)]
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        rows = [
            f"| {_names(p)} | {_cell(p.help or '')}{_default(p)} |"
            for p in visible
            if p.param_type_name == kind
        ]
        if rows:
            parts += ["", f"## {title}", "", "| name | meaning |", "|---|---|", *rows]
    inner = getattr(command, "commands", {})
    if inner:
        parts += ["", "## Commands", ""]
        parts += [f"- [{name} {verb}]({_file_of(f'{name} {verb}')}.md)" for verb in inner]
    if example:
        parts += ["", "## Example", "", f"    {example[1].strip('`')}"]
    return "\n".join([*parts, ""])


def _synopsis(name: str, command: Any) -> str:
    words = [name]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            metavar = parameter.metavar or parameter.name.upper()
            words.append(metavar if parameter.required else f"[{metavar}]")
    if getattr(command, "commands", {}):
        words.append("COMMAND ...")
    return " ".join([*words, "[OPTIONS]"])


def _names(parameter: Any) -> str:
    metavar = parameter.metavar or str(parameter.name).upper().replace("_", "-")
    if parameter.param_type_name == "argument":
        return f"`{metavar}`"
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    is_flag = getattr(parameter, "is_flag", False) or getattr(parameter, "count", False)
    return names if is_flag else f"{names} `{metavar}`"


def _default(parameter: Any) -> str:
    default = getattr(parameter, "default", None)
    shown = getattr(parameter, "show_default", False)
    if not shown or default in (None, False, (), []) or callable(default):
        return ""
    return f" Default: `{default}`."
