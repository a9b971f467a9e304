# SPDX-License-Identifier: Apache-2.0
"""Code for one processor is in folders `arch/`; ARCHITECTURE.md lists what a port adds."""

from __future__ import annotations

import re
from pathlib import Path

from quality.external import ROOT

NATIVE = ROOT / "src" / "native"
CODE = {".c", ".cpp", ".h", ".hpp", ".inc", ".S"}
# Programs copy one of these headers, so they include no other file.
SINGLE_HEADERS = {"include/numascape/phase.h", "include/numascape/region.h"}

# A header that includes the file of the processor; other processors are refused.
CHOICE = re.compile(
    r'#if defined\(__x86_64__\)\n#include "arch/x86_64/[\w.-]+"\n'
    r'(?:#elif defined\(__aarch64__\)\n#include "arch/aarch64/[\w.-]+"\n)?'
    r'#else\n#error "[^"]+"\n#endif\n'
)
# Calls that do not exist on every processor (asm-generic/unistd.h).
OLD_CALLS = (
    "_sysctl|access|alarm|arch_prctl|chmod|chown|creat|dup2|epoll_create|epoll_wait|eventfd|fork"
    "|futimesat|get_thread_area|getdents|getpgrp|inotify_init|ioperm|iopl|lchown|link|mkdir|mknod"
    "|modify_ldt|open|pause|pipe|poll|readlink|rename|rmdir|select|set_thread_area|signalfd|symlink"
    "|sysfs|time|unlink|uselib|ustat|utime|utimes|vfork"
)
OF_A_PROCESSOR = re.compile(
    "|".join(
        (
            # processors by name, also in the numbers of executables and of seccomp filters
            r"x86|X86|AMD64|\bamd64\b|i[36]86|aarch64|AARCH64|AArch64|\bEM_[A-Z]",
            # general registers, also in DynamoRIO, in ptrace and in contexts of signals
            r"\b[rex][abcd]x\b|\b[rex](?:[sd]i|bp)\b|\b[re](?:sp|ip)\b|\br(?:8|9|1[0-5])\b",
            r"\b[cdefgs]s:|\bfs_base\b|\bgs_base\b|\borig_rax\b|\b[re]flags\b|\bDR_SEG_",
            r"\bDR_REG_(?!NULL\b|INVALID\b)|\buser_regs_struct\b|\bgregs\b|\bREG_R\w+",
            # vector registers, and what saves them
            r"\b[xyz]mm\d*\b|\bSSE\d?\b|\bAVX|__AVX|__SSE|\bxsave|\bxrstor|\bxgetbv|\bNEON\b",
            # instructions: of DynamoRIO, intrinsic, in assembly (an empty one is for the compiler)
            r"\bOP_(?!INVALID\b|UNDECODED\b|LABEL\b|FIRST\b|AFTER_LAST\b)\w+|\bINSTR_CREATE_(?!label)",
            r"\b_mm\d*_|\w*intrin\.h|\bcpuid\b|\brdtscp?\b|\b__cpu_|__builtin_(?:cpu|ia32)_",
            r"\b(?:asm|__asm__)\b(?! volatile\(\"\" :)|\brep (?:movs|stos|lods)|\bnopl\b|\bendbr",
            rf"\bSYS_(?:{OLD_CALLS})\b",
        )
    )
)


def of_a_processor(text: str) -> list[str]:
    """The words in a source file, also in comments, that depend on a processor."""
    return [found.group() for found in OF_A_PROCESSOR.finditer(CHOICE.sub("", text))]


def sources() -> list[Path]:
    return sorted(
        path
        for folder in (NATIVE, ROOT / "include")
        for path in folder.rglob("*")
        if path.suffix in CODE
    )


def section() -> str:
    return (ROOT / "ARCHITECTURE.md").read_text().split("## Another architecture")[1]


def test_code_that_depends_on_the_processor_is_below_arch() -> None:
    code = [path for path in sources() if "arch" not in path.relative_to(ROOT).parts]
    assert len(code) > 400
    found = {str(path.relative_to(ROOT)): of_a_processor(path.read_text()) for path in code}
    dependent = {path: words for path, words in found.items() if words}
    assert {path: words for path, words in dependent.items() if path not in SINGLE_HEADERS} == {}
    assert set(dependent) == SINGLE_HEADERS
    assert [path for path in SINGLE_HEADERS if f"`{path}`" not in section()] == []


def test_what_depends_on_a_processor_is_found() -> None:
    for text in (
        "#if defined(__x86_64__)\nint a;\n#endif\n",
        "#include <immintrin.h>",
        "emit.add(INSTR_CREATE_mov_ld(dc, a, b));",
        "if (instr_get_opcode(i) == OP_nop_modrm) return;",
        "opnd_create_reg(DR_REG_RSP)",
        "from->rdi",
        "// the number of elements is in rcx",
        "header.e_machine != EM_X86_64",
        "os::call(SYS_readlink, path)",
        'asm volatile("pause");',
    ):
        assert of_a_processor(text), text
    for text in (
        '#if defined(__x86_64__)\n#include "arch/x86_64/a.h"\n#else\n#error "no"\n#endif\n',
        'asm volatile("" : "+r"(at));',
        "opnd_create_reg(DR_REG_NULL)",
        "os::call(SYS_openat, path)",
        "context.xsp",
    ):
        assert of_a_processor(text) == [], text


def test_every_header_that_chooses_a_processor_refuses_others() -> None:
    headers = {path: text for path in sources() if '#include "arch/' in (text := path.read_text())}
    assert len(headers) > 5
    assert [str(path) for path, text in headers.items() if not CHOICE.search(text)] == []
    files = {path.parent / f"arch/x86_64/{path.name}" for path in headers}
    assert [str(path) for path in files if not path.exists()] == []


def test_the_table_of_what_a_port_adds_has_every_file_of_an_architecture() -> None:
    """The source file, if a header and a source have the same name."""
    files = {
        (path.parts[-4], path.name)
        for path in NATIVE.glob("*/arch/x86_64/*")
        if path.suffix != ".h" or not path.with_suffix(".cpp").exists()
    }
    assert len(files) > 40
    rows = re.findall(r"^\| `([\w-]+)/`: (`[^|]+) \|[^|]+\|[^|]+\|$", section(), re.M)
    assert {(row[0], name) for row in rows for name in re.findall(r"`([\w.]+)`", row[1])} == files
