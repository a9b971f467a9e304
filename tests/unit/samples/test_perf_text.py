# SPDX-License-Identifier: Apache-2.0
"""The output of `perf script` for PEBS, IBS and SPE samples, in the layout of perf 6.1."""

from __future__ import annotations

import pytest

from numascape.samples.events import (
    UNKNOWN_CALLERS,
    Forked,
    NameGiven,
    RangeMapped,
    Sample,
)
from numascape.samples.perf_chains import with_calls
from numascape.samples.perf_data import machine_of_header, memory_blocks
from numascape.samples.perf_text import parse

ALL = frozenset({"pid", "tid", "cpu", "time", "addr", "data_src", "weight", "ip", "phys_addr"})

PEBS_LOAD = (
    " 4242/4243  [007] 12345.000000123: cpu/mem-loads,ldlat=30/P:     7f12a4c01040       668100142 "
    "|OP LOAD|LVL L3 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A               57     "
    "55d0a1b2c3d4        10a4c01040"
)
PEBS_STORE = (
    " 4242/4242  [000] 12346.500000000: cpu/mem-stores/P:     7f12a4c02048        5080144 "
    "|OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A                0     55d0a1b2c3e0"
    "                0"
)
IBS = (
    " 77/77  [063] 9.000000001: ibs_op//:     7fffdeadbee8     1e205080042 "
    "|OP LOAD|LVL Remote RAM (1 hop) hit|SNP N/A|TLB L2 miss|LCK No|BLK  N/A              812"
    "     401234"
)
# If the processor has no weight, the SPE decoder leaves the field out.
SPE = (
    " 900/901  [003] 17.250000000: l1d-miss:     ffff8a001000       568100242 "
    "|OP LOAD|LVL L2 hit|SNP None|TLB Walker hit|LCK No|BLK Data Addr     aaaac0de1234"
)


def sample(text: str, fields: frozenset[str]) -> Sample:
    parsed = parse([text], fields)
    assert parsed.not_understood == 0
    (event,) = parsed.events
    assert isinstance(event, Sample)
    return event


def test_a_pebs_load_has_latency_source_and_physical_address() -> None:
    assert sample(PEBS_LOAD, ALL) == Sample(
        pid=4242,
        tid=4243,
        cpu=7,
        time_ns=12345_000000123,
        event="cpu/mem-loads,ldlat=30/P",
        address=0x7F12A4C01040,
        pc=0x55D0A1B2C3D4,
        kind="read",
        latency=57,
        source="L3 hit",
        physical=0x10A4C01040,
    )


def test_a_pebs_store_writes_and_has_no_latency() -> None:
    found = sample(PEBS_STORE, ALL)
    assert (found.kind, found.latency, found.source) == ("write", None, "L1 hit")
    assert (found.address, found.pc, found.physical) == (0x7F12A4C02048, 0x55D0A1B2C3E0, None)


def test_an_ibs_sample_names_the_remote_memory() -> None:
    found = sample(IBS, ALL - {"phys_addr"})
    assert (found.source, found.latency, found.cpu) == ("Remote RAM (1 hop) hit", 812, 63)
    assert (found.address, found.pc) == (0x7FFFDEADBEE8, 0x401234)


def test_a_level_that_perf_says_twice_is_said_once() -> None:
    for twice, once in (
        ("L3 or L3 hit", "L3 hit"),
        ("LFB/MAB or LFB/MAB hit", "LFB/MAB hit"),
        ("L3 or Remote RAM (1 hop) hit", "L3 or Remote RAM (1 hop) hit"),
    ):
        assert sample(PEBS_LOAD.replace("L3 hit", twice), ALL).source == once


def test_an_spe_sample_without_weight() -> None:
    found = sample(SPE, ALL - {"weight", "phys_addr"})
    assert (found.kind, found.latency, found.source) == ("read", None, "L2 hit")
    assert (found.address, found.pc) == (0xFFFF8A001000, 0xAAAAC0DE1234)


def test_a_software_event_has_an_address_only() -> None:
    line = "  5/5  1.000000007: page-faults:u:     7ffbc2b9a910     7ffbc2b84a07"
    found = sample(line, frozenset({"pid", "tid", "time", "addr", "ip"}))
    assert (found.kind, found.cpu) == ("unknown", None)
    assert (found.address, found.pc) == (0x7FFBC2B9A910, 0x7FFBC2B84A07)


def test_records_of_mappings_names_and_threads() -> None:
    text = """
 6/6  1.000000001: PERF_RECORD_COMM exec: a b:6/6
 6/6  1.000000002: PERF_RECORD_MMAP2 6/6: [0x562e0e5f8000(0x26000) @ 0 fe:00 9 8]: r-xp /opt/a b
 6/6  1.000000003: PERF_RECORD_MMAP2 6/6: [0x7000(0x2000) @ 0x7000 00:00 0 0]: rw-p //anon
 6/6  1.000000004: PERF_RECORD_FORK(6:7):(6:6)
 6/7  1.000000005: PERF_RECORD_EXIT(6:7):(6:6)
"""
    parsed = parse(text.splitlines(), ALL)
    assert parsed.not_understood == 0
    assert parsed.events == [
        NameGiven(6, 6, 1000000001, "a b", executed=True),
        RangeMapped(6, 1000000002, 0x562E0E5F8000, 0x562E0E61E000, 0, "/opt/a b"),
        RangeMapped(6, 1000000003, 0x7000, 0x9000, 0x7000, "//anon"),
        Forked(6, 7, 6, 1000000004),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "6/6 1.0: x",
        " 6/6  1.000000001: e:   zz 12",
        " 6/6  1.000000001: e:   12",
        "nonsense",
        " 6/6  1.000000001: e:   12   nothing 12",
    ],
)
def test_what_is_no_sample_is_counted(line: str) -> None:
    parsed = parse([line], ALL)
    assert (parsed.events, parsed.not_understood) == ([], 1)


@pytest.mark.parametrize(
    "text",
    [
        PEBS_LOAD.replace("4242/", "4294967296/"),
        PEBS_LOAD.replace("/4243", "/4294967296"),
        PEBS_LOAD.replace(" 57 ", " 4294967296 "),
        "9/9  [000] 1.000000000: PERF_RECORD_FORK(4294967296:9):(9:9)",
        "9/9  [000] 1.000000000: PERF_RECORD_FORK(9:9):(9999999999:9)",
        "9/9  [000] 1.000000000: PERF_RECORD_COMM exec: a:9/4294967296",
    ],
)
def test_numbers_beyond_32_bits_are_damage(text: str) -> None:
    assert parse([text], ALL).events == []


def test_a_path_has_no_nul() -> None:
    line = "9/9 1.000000000: PERF_RECORD_MMAP2 9/9: [0x1000(0x1000) @ 0 8:1 5 0]: r-xp /a\0b"
    (mapping,) = parse([line], ALL).events
    assert isinstance(mapping, RangeMapped)
    assert mapping.path == "/a\N{REPLACEMENT CHARACTER}b"


HEADER = """# hostname : big
# nrcpus online : 4
# node0 meminfo  : total = 1000 kB, free = 10 kB
# node0 cpu list : 0-1
# node1 meminfo  : total = 2000 kB, free = 10 kB
# node1 cpu list : 2-3
# memory nodes (nr 2, block size 0x8000000):
#    0 [1G]: 0-3,6
#    1 [1G]: 4-5
""".splitlines()


def test_the_header_tells_nodes_and_their_memory() -> None:
    machine = machine_of_header(HEADER)
    assert [(n.node, n.cpus, n.memory_bytes) for n in machine.nodes] == [
        (0, (0, 1), 1000 << 10),
        (1, (2, 3), 2000 << 10),
    ]
    block = 0x8000000
    assert memory_blocks(HEADER) == {
        0: [(0, 4 * block), (6 * block, 7 * block)],
        1: [(4 * block, 6 * block)],
    }


# As `perf script -F ...,ip,dso` prints it; a chain takes the place of the code address.
CHAIN = """
 6/6  1.000000001: PERF_RECORD_COMM exec: a:6/6
 6/6  1.000000002: PERF_RECORD_MMAP2 6/6: [0x5000000(0x1000) @ 0 fe:00 9 8]: r--p /opt/a b
 6/6  1.000000003: PERF_RECORD_MMAP2 6/6: [0x5001000(0x3000) @ 0x1000 fe:00 9 8]: r-xp /opt/a b
 6/6  1.000000004: PERF_RECORD_FORK(7:7):(6:6)
 7/7  1.000000005: e:     7f00 (//anon)
\t            1248 (/opt/a b)
\t            1272 (/opt/a b)
\t            9999 (/opt/a b)
\t            10d5 (/opt/a b)
            1000

 6/6  1.000000006: e:     7f08 ([heap])
\tffffffff81b98907 ([kernel.kallsyms])
\tffffffff81000c82 ([kernel.kallsyms])
\t            1280 (/opt/a b)

 6/6  1.000000007: e:     7f10 (/opt/a b)     5001248 (/opt/a b)            2000
"""


def test_a_chain_has_the_addresses_of_code_and_calls() -> None:
    parsed = parse(CHAIN.splitlines(), frozenset({"pid", "tid", "time", "addr", "ip", "phys_addr"}))
    assert parsed.not_understood == 0
    user, kernel, alone = (e for e in with_calls(parsed) if isinstance(e, Sample))
    assert (user.address, user.pc, user.physical) == (0x7F00, 0x5001248, 0x1000)
    # Return addresses are behind the calls. What is in no file ends the chain.
    assert user.calls == (0x5001271, UNKNOWN_CALLERS)
    assert (kernel.pc, kernel.calls) == (0xFFFFFFFF81B98907, (0x500127F,))
    assert (alone.pc, alone.calls, alone.physical) == (0x5001248, None, 0x2000)


def test_lines_of_a_chain_without_a_sample_are_damage() -> None:
    parsed = parse(["\t  1248 (/opt/a)", " 6/6  1.000000006: e:     7f08"], frozenset({"ip"}))
    assert (parsed.events, parsed.chains) == ([], {})
    assert parsed.not_understood == 2
