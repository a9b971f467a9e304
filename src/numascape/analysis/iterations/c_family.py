# SPDX-License-Identifier: Apache-2.0
"""Why the iterations of a loop in C or C++ depend on each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from numascape.analysis.iterations.nodes import below, identifiers, without_spaces
from numascape.naming.sources import text

LOOPS: Final = frozenset({"for_statement", "for_range_loop", "while_statement", "do_statement"})

_OUTPUT: Final = (
    "printf fprintf vprintf puts fputs putchar putc fputc fwrite write scanf fscanf sscanf gets "
    "fgets getc fgetc getchar getline fread read pread recv send perror"
)
_STREAMS: Final = "cout cerr clog cin"
_RANDOM: Final = (
    "rand random lrand48 mrand48 drand48 erand48 nrand48 jrand48 arc4random rand_r random_r"
)
_GROW: Final = (
    "push_back emplace_back push_front emplace_front push pop insert emplace append resize erase"
)
_PURE: Final = (
    "sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 log log2 log10 sqrt cbrt pow fabs "
    "abs labs floor ceil round fmod fmin fmax min max hypot sinf cosf expf logf sqrtf powf fabsf "
    "floorf ceilf fminf fmaxf memset memcpy memmove move size data begin end at get"
)


_REMAINDERS: Final = ("%", "&", ">>")
"""Operators whose results are the same for several operands."""

_STEP: Final = re.compile(r"(\+\+|--)\w+$|\w+(\+\+|--)$|\w+\s*[-+]=|(\w+)\s*=\s*\3\s*[-+](?!>)")
"""How a counter is changed after each iteration, so that the number of iterations is known."""


def dependence(loop: Node) -> str:
    """The reason, as the end of a sentence that begins with "it"; empty if there is none."""
    body = loop.child_by_field_name("body")
    if loop.type not in ("for_statement", "for_range_loop") or body is None:
        return "has no counter"
    counter = _counter(loop)
    if not counter:
        return "has no counter"
    own = {counter} | set(_declared(body)) | set(private_counters(loop))
    derived = _derived(body, counter)
    return (
        _ends_early(body)
        or _calls(body, derived)
        or _written(body, own, derived, _scattered(body))
        or _carried(body, own)
    )


def private_counters(loop: Node) -> tuple[str, ...]:
    """The counters of inner loops that are declared outside: each thread needs its own ones.

    An inner loop sets its counter before it reads it.
    """
    body = loop.child_by_field_name("body")
    if body is None:
        return ()
    inner = (one for one in below(body, "for_statement") if not any(_declares(one)))
    names = dict.fromkeys(map(_counter, inner))
    return tuple(name for name in names if name and name not in set(_declared(body)))


def _declares(loop: Node) -> Iterator[Node]:
    start = loop.child_by_field_name("initializer")
    return below(start, "declaration") if start is not None else iter(())


def _counter(loop: Node) -> str:
    if loop.type == "for_range_loop":
        declarator = loop.child_by_field_name("declarator")
        return "".join(identifiers(declarator)[:1]) if declarator else ""
    start, update = loop.child_by_field_name("initializer"), loop.child_by_field_name("update")
    if start is None or update is None or not _STEP.match(text(update)):
        return ""
    if start.type == "declaration":
        return next(_declared(start), "")
    left = start.child_by_field_name("left")
    return text(left) if left is not None and left.type == "identifier" else ""


def _declared(node: Node) -> Iterator[str]:
    """The names that declarations below the node introduce."""
    for found in below(node, "declaration", "for_range_loop"):
        for declarator in found.children_by_field_name("declarator"):
            target = declarator.child_by_field_name("declarator") or declarator
            yield from identifiers(target)[:1]


def _derived(body: Node, counter: str) -> set[str]:
    """The counter, and the variables of the body that are computed from it."""
    derived = {counter}
    for found in below(body, "declaration", "for_range_loop"):
        for declarator in found.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value") or found.child_by_field_name("right")
            if value is not None and derived & set(identifiers(value)):
                target = declarator.child_by_field_name("declarator") or declarator
                derived |= set(identifiers(target)[:1])
    return derived


def _scattered(body: Node) -> set[str]:
    """The variables of the body that may have the same value in two iterations.

    They are read from memory, returned by a function, or a remainder. The counters of inner loops
    are left out: their ranges usually follow each other.
    """
    found: set[str] = set()
    for declaration in below(body, "declaration"):
        around = declaration.parent
        if around is not None and around.type == "for_statement":
            continue
        for declarator in declaration.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value")
            target = declarator.child_by_field_name("declarator")
            is_number = target is not None and target.type == "identifier"
            if is_number and value is not None and _is_scattered(value, found):
                found |= set(identifiers(declarator)[:1])
    return found


def _is_scattered(value: Node, scattered: set[str]) -> bool:
    """Whether the value may be the same in two iterations, although it depends on the counter."""
    if scattered & set(identifiers(value)) or any(below(value, "subscript_expression")):
        return True
    if any(text(one).startswith("*") for one in below(value, "pointer_expression")):
        return True
    operators = (one.child_by_field_name("operator") for one in below(value, "binary_expression"))
    if any(one is not None and text(one) in _REMAINDERS for one in operators):
        return True
    return any(
        not text(call.child_by_field_name("function") or call).startswith("static_cast")
        for call in below(value, "call_expression")
    )


def _ends_early(body: Node) -> str:
    for node in below(body, "return_statement", "goto_statement", "throw_statement"):
        return f"can end early ({node.type.split('_')[0]})"
    for node in below(body, "break_statement"):
        around = node.parent
        while around is not None and around != body.parent:
            if around.type in LOOPS or around.type == "switch_statement":
                break
            around = around.parent
        if around is None or around == body.parent:
            return "can end early (break)"
    return ""


def _calls(body: Node, derived: set[str]) -> str:
    if any(name in _STREAMS.split() for name in identifiers(body)):
        return "reads or writes a stream"
    for call in below(body, "call_expression"):
        function = call.child_by_field_name("function")
        arguments = call.child_by_field_name("arguments")
        if function is None:
            continue
        names = list(below(function, "identifier", "field_identifier"))
        called = text(names[-1] if names else function)
        if called in _OUTPUT.split():
            return f"reads or writes a file (`{called}`)"
        if called in _RANDOM.split():
            return f"takes random numbers in a fixed order (`{called}`)"
        if called in _GROW.split():
            return f"changes the size of a container (`{called}`)"
        if called in _PURE.split():
            continue
        given = set(identifiers(arguments)) if arguments is not None else set()
        if not given & derived or any(_takes_address(call)):
            return f"may keep a value from one iteration to the next (`{called}`)"
    return ""


def _takes_address(call: Node) -> Iterator[bool]:
    for pointer in below(call, "pointer_expression"):
        inside = pointer.child_by_field_name("argument")
        if text(pointer).startswith("&") and inside is not None and inside.type == "identifier":
            yield True


def _written(body: Node, own: set[str], derived: set[str], scattered: set[str]) -> str:
    targets = [target for target in _targets(body) if target.type != "identifier"]
    for target in _targets(body):
        if target.type == "identifier" and text(target) not in own:
            return f"carries `{text(target)}` from one iteration to the next"
    for target in targets:
        if not derived & set(identifiers(target)):
            if not set(identifiers(target)[:1]) & own:
                return f"writes `{text(target)}` in every iteration"
            continue
        # One index that is another one in each iteration is enough.
        indices = [one for one in _indices(target) if derived & set(identifiers(one))]
        if indices and all(_is_scattered(index, scattered) for index in indices):
            return f"writes `{text(target)}`, which two iterations may write"
    return ""


def _targets(body: Node) -> Iterator[Node]:
    """The expressions that assignments and increments write."""
    for write in below(body, "assignment_expression", "update_expression"):
        target = write.child_by_field_name("left") or write.child_by_field_name("argument")
        while target is not None and target.type == "parenthesized_expression":
            target = target.named_children[0] if target.named_children else None
        if target is not None:
            yield target


def _indices(target: Node) -> Iterator[Node]:
    """The indices of an element, and the arguments of a function that returns a reference to it."""
    node: Node | None = target
    while node is not None:
        array = node.child_by_field_name("argument") or node.child_by_field_name("function")
        if node.type == "subscript_expression":
            for child in node.named_children:
                if child != array:
                    yield from child.named_children if "list" in child.type else (child,)
        elif node.type == "call_expression":
            arguments = node.child_by_field_name("arguments")
            yield from arguments.named_children if arguments is not None else ()
        elif node.type == "pointer_expression" and array is not None:
            yield array
        node = array


def _carried(body: Node, own: set[str]) -> str:
    """Whether an array is read at another element than the one that the iteration writes.

    An array that the body declares (`own`) is another one in each iteration.
    """
    written: dict[str, set[str]] = {}
    for target in _targets(body):
        if target.type == "subscript_expression":
            written.setdefault(_base(target), set()).add(without_spaces(target))
    for element in below(body, "subscript_expression"):
        if element.parent is not None and element.parent.type == "subscript_expression":
            continue
        base, whole = _base(element), without_spaces(element)
        if base not in own and base in written and whole not in written[base]:
            return f"reads `{text(element)}`, which another iteration writes"
    return ""


def _base(element: Node) -> str:
    array = element.child_by_field_name("argument")
    while array is not None and array.type == "subscript_expression":
        array = array.child_by_field_name("argument")
    return text(array) if array is not None else ""
