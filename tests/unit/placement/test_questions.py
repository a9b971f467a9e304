# SPDX-License-Identifier: Apache-2.0
"""The placer's questions: damaged ones get no answer."""

from __future__ import annotations

import random
import socket
import struct
from contextlib import suppress
from pathlib import Path

import pytest

from numascape.placement.resolving import Resolver
from numascape.placement.serving import QuestionError, answer, serving_resolver
from numascape.plan import StructureRule

NOWHERE = 0xFFFFFFFF


def python_function(first_line: int = 3) -> bytes:
    file, name, lines = b"/none.py", "f".encode("utf-16-le"), b"\xf0\x00\x00\x00"
    sizes = (len(file), len(name), len(lines))
    header = struct.pack("<Q8I", 0, 0x30B, first_line, 1, 2, *sizes, 0)
    return header + file + name + lines


def question(
    kind: int = 2,
    addresses: tuple[int, ...] = (4096,),
    path: bytes = b"/none",
    modules: int = 1,
    python: tuple[bytes, ...] = (),
) -> bytes:
    module = struct.pack("<3Q2I", 0x1000, 0x2000, 0x1000, len(path), 0) + path
    stack = struct.pack(f"<{len(addresses)}Q", *addresses)
    rest = module + stack + b"".join(python)
    header = (len(rest), kind, modules, len(addresses), len(module), 0, len(python))
    return struct.pack("<7I", *header) + rest


@pytest.fixture
def resolver() -> Resolver:
    return Resolver((StructureRule("a", "interleave", nodes=(0,)),))


def test_a_stack_that_no_rule_is_about(resolver: Resolver) -> None:
    assert struct.unpack("<2I", answer(question(), resolver))[0] == NOWHERE


def test_a_python_function_names_the_stack() -> None:
    resolver = Resolver((StructureRule("f+3", "interleave", nodes=(0,)),))
    for line, rule in ((3, 0), (4, NOWHERE)):
        asked = question(python=(python_function(line),))
        assert struct.unpack("<2I", answer(asked, resolver)) == (rule, 0)


def test_variables_of_a_file_that_is_not_there(resolver: Resolver) -> None:
    assert struct.unpack("<2I", answer(question(1, ()), resolver)) == (0, 0)


def test_a_module_may_be_empty_but_not_below_its_bias(resolver: Resolver) -> None:
    def asked_about(start: int, end: int, bias: int) -> bytes:
        module = struct.pack("<3Q2I", start, end, bias, 5, 0) + b"/none"
        rest = module + struct.pack("<Q", 4096)
        return struct.pack("<7I", len(rest), 2, 1, 1, len(module), 0, 0) + rest

    for allowed in ((0x2000, 0x2000, 0x1000), (0x1000, 0x2000, 0x1000)):
        assert struct.unpack("<2I", answer(asked_about(*allowed), resolver))[0] == NOWHERE
    for damaged in ((0x2000, 0x1FFF, 0x1000), (0x1000, 0x2000, 0x1001)):
        with pytest.raises(QuestionError):
            answer(asked_about(*damaged), resolver)


def test_damaged_questions_get_no_answer(resolver: Resolver) -> None:
    for damaged in (
        question(3),
        question(modules=2),
        question() + b"x",
        question(path=b"a\0b"),
        question(python=(python_function()[:-1],)),
        question(python=(python_function()[:20],)),
        question(python=(python_function(),)) + b"x",
    ):
        with pytest.raises(QuestionError):
            answer(damaged, resolver)
    with pytest.raises(QuestionError):
        answer(question(addresses=(1,) * 65), resolver)


def test_questions_of_random_bytes_get_an_answer_or_none(resolver: Resolver) -> None:
    chance = random.Random(7)
    for _ in range(2000):
        content = bytearray(question(python=(python_function(),)))
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        try:
            answer(bytes(content), resolver)
        except QuestionError:
            continue


def asked(path: Path, content: bytes) -> bytes:
    """The answer of the socket, or nothing."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        with suppress(ConnectionError):
            client.sendall(content)
            client.shutdown(socket.SHUT_WR)
            return client.recv(100)
        return b""


def test_the_socket_answers_after_nonsense(resolver: Resolver, tmp_path: Path) -> None:
    path = tmp_path / "questions"
    with serving_resolver(resolver, path):
        for content in (b"", b"nonsense", b"\xff" * 28, question()):
            got = asked(path, content)
        assert struct.unpack("<2I", got)[0] == NOWHERE


def test_a_question_has_at_most_four_mebibytes(resolver: Resolver, tmp_path: Path) -> None:
    path = tmp_path / "questions"
    room = (4 << 20) - (len(question()) - struct.calcsize("<7I"))
    with serving_resolver(resolver, path):
        answers = [asked(path, question(path=b"/none" + b"/" * (room + more))) for more in (0, 1)]
    assert [len(got) for got in answers] == [8, 0]
