# SPDX-License-Identifier: Apache-2.0
"""Describes the limitations of a recording, in sentences for the reader of its report."""

from __future__ import annotations

from numascape._native import shard as native
from numascape.conversion.shards import FAULTS, Shard
from numascape.conversion.uncounted import describe_uncounted
from numascape.quantities import share_text
from numascape.recording.options import TASK_CLOCK
from numascape.trace.counting import counts_of_faults
from numascape.trace.info import PAGE_FAULTS

# The meaning of each flag of a shard for the reader, in the order of the sentences.
_OF_FLAGS = (
    (
        native.FLAG_DISK_FULL,
        "The disk was full during the recording. Counts are missing for pages that were first "
        "used after that.",
    ),
    (
        native.FLAG_THREADS_LOST,
        "More threads existed at the same time than the recorder can count: 16384 (on ext4: 4095), "
        "or half of this with --traffic. The threads above this limit were not counted.",
    ),
    (
        native.FLAG_ATTACHED,
        "The program was already running when the recording started. Earlier first touches "
        "and allocations are unknown.",
    ),
    (
        native.FLAG_CHILDREN_LOST,
        "Forked processes are missing: they could not create files for their counts, and had "
        "no permission to connect to Numascape.",
    ),
    (
        native.FLAG_CALLS_FORBIDDEN,
        "A process restricted its system calls (seccomp), so the recorder made no system calls "
        "in it after that. The process' later allocations, mappings and children are unknown, "
        "and so are the nodes of its pages.",
    ),
    (
        native.FLAG_STACKS_CUT,
        "One place allocated memory from more call stacks than the recorder distinguishes. "
        "Only the innermost functions of the other call stacks are known. Some structures are "
        "therefore combined, with the name of one of them.",
    ),
    (
        native.FLAG_CALLERS_CUT,
        "More call paths led to first touches than the recorder distinguishes. Only the innermost "
        "calls of the other paths are known.",
    ),
    (
        native.FLAG_PHASES_FOLDED,
        "There were more phases than the recorder can count separately. The other phases are "
        'counted together as "further phases".',
    ),
    (
        native.FLAG_REGIONS_LOST,
        "The program named more regions of memory at the same time than the recorder can follow. "
        "The accesses to the other regions count for the structures around them.",
    ),
    (
        native.FLAG_BLOCKS_LOST,
        "The program has more code than the recorder can distinguish. For some of the code, "
        "the source lines that use a structure are unknown.",
    ),
)


def unseen_of_faults(
    hinting: int, counted: int, lost: int, *, from_start: bool = True
) -> list[str]:
    """Describe what a recording of page faults does not contain.

    `hinting` is the number of hinting faults in the recording. `counted` is the number that the
    kernel counted in the same time, for all processes. `lost` is the number of missing faults.
    `from_start`: the recording began with the program.
    """
    first = _TOUCHES if from_start else _LATER_TOUCHES
    sampled = counts_of_faults(hinting) == "samples"
    if sampled:
        sentences = [
            "Accesses are sampled: the samples are hinting faults of the kernel's NUMA balancing. "
            "After each scan by the kernel, the next access to a page causes a hinting fault. The "
            "samples show which threads use a page, but not whether one page is used more than "
            f"another. All samples count as reads. {first}"
        ]
    else:
        sentences = [
            "Only page faults were recorded. Accesses to a page after its first touch are not "
            f"counted. {first}"
        ]
    if hinting > 0 and not sampled:
        sentences.append(
            f"The kernel's NUMA balancing sampled {hinting} accesses. They are too few, so they "
            "are not shown."
        )
    if hinting > counted:
        sentences.append(
            f"The kernel counted {counted} hinting faults, but the recorder found {hinting}. Some "
            "samples are therefore other page faults."
        )
    if lost:
        sentences.append(
            f"{lost} page faults are missing, because they came faster than they could be read."
        )
    return sentences


_BLOCKS = "On heap pages with several blocks, samples are divided among the blocks by their bytes."
_TOUCHES = "The first touch of each page (thread, source line, node) is exact."
_LATER_TOUCHES = (
    "First touches (thread, source line, node) are exact for the pages that were touched first "
    "during the recording, and unknown for all others."
)
_NO_TOUCHES = (
    "The first touch of each page is unknown. The threads of the process wait and wake up very "
    "often, so recording their page faults would cost more than the samples."
)


def unseen_of_samples(samples: int, lost: int, *, from_start: bool = True) -> list[str]:
    """Describe what a recording of `samples` does not contain; `lost` events are missing."""
    touches = _TOUCHES if from_start else _LATER_TOUCHES
    sentences = [
        f"Accesses are sampled by the processor or the kernel: there are {samples} samples. All "
        f"other accesses are missing. All samples count as reads. {_BLOCKS} {touches}"
    ]
    return [*sentences, *_lost_events(lost)]


def unseen_of_page_faults(faults: int, lost: int, *, from_start: bool = True) -> list[str]:
    """Describe what `faults` as the only samples do not contain; `lost` events are missing."""
    touches = _TOUCHES if from_start else _LATER_TOUCHES
    sentences = [
        f"Only page faults were recorded ({faults}), each as one read: the first access to a page, "
        "or a later one for which the kernel must act. All other accesses are missing, so the "
        f"counts do not show how much a page is used. {_BLOCKS} {touches}"
    ]
    return [*sentences, *_lost_events(lost)]


def unseen_of_clock(
    samples: int,
    without_access: int,
    lost: int,
    with_faults: bool = True,
    *,
    from_start: bool = True,
    bursts: int = 0,
) -> list[str]:
    """Describe what samples of the clock do not contain.

    `without_access` is the number of further samples without an access; `lost` events are missing.
    `with_faults`: page faults were recorded, too. `bursts` is the number of bursts of samples; 0:
    they were taken all the time.
    """
    touches = _TOUCHES if from_start else _LATER_TOUCHES
    sentences = [
        f"Accesses are sampled by time: there are {samples} samples, at equal distances of "
        "CPU time. A sample is one of the accesses that the thread makes next. So "
        "the shares are shares of time, not of the number of accesses: code that waits for memory "
        "has more samples. Where an address depends on a value in memory, the value was read some "
        f"milliseconds later. {_BLOCKS} {touches if with_faults else _NO_TOUCHES}"
    ]
    if without_access:
        share = share_text(without_access / (samples + without_access))
        sentences.append(
            f"{share} of the samples of the clock are missing: the thread made no access at this "
            "point, or the address is unknown."
        )
    if bursts:
        sentences.append(
            f"The samples were taken in {bursts} short bursts: the threads switch often, and "
            "this user may only sample each thread. What the program does seldom, and then for "
            "long, has a larger error than stated."
        )
    return [*sentences, *_lost_events(lost)]


def _lost_events(lost: int) -> list[str]:
    return [f"{lost} events are missing: they came too fast to be read."] if lost else []


def _executed_without_us(shards: list[Shard]) -> int:
    """Return how many processes executed a program that wrote no shard."""
    last: dict[int, Shard] = {}
    for shard in sorted(shards, key=lambda shard: int(shard.header["start_ns"])):
        last[int(shard.header["pid"])] = shard
    ended = native.FLAG_ENDED | native.FLAG_DETACHED
    return sum(shard.has(native.FLAG_REPLACED) and not shard.has(ended) for shard in last.values())


def not_seen(
    shards: list[Shard], accesses: int, recorder: str = "binary", event: str | None = None
) -> list[str]:
    """Return one sentence per limitation.

    `accesses` is the total of the run, and `event` what the samples recorder sampled.
    """
    sentences: list[str] = []
    if recorder == "compiled":
        sentences.append(describe_uncounted(shards))
    if recorder == "samples":
        lost = max((shard.lost_faults for shard in shards), default=0)
        samples = sum(len(shard.hinting) for shard in shards)
        without = sum(shard.without_access for shard in shards)
        if event == TASK_CLOCK:
            sentences += unseen_of_clock(samples, without, lost)
        elif event == PAGE_FAULTS:
            sentences += unseen_of_page_faults(samples, lost)
        else:
            sentences += unseen_of_samples(samples, lost)
    of_bursts = [shard for shard in shards if shard.header["burst_groups"]]
    if of_bursts and not any(shard.path.with_name(FAULTS).exists() for shard in of_bursts):
        sentences.append(
            "First touches: bursts see few of them, and no page faults were recorded. They are "
            "recorded if `numascape record` starts the program, and the kernel permits it."
        )
    if recorder == "faults":
        counted = max((shard.hinting_counted for shard in shards), default=0)
        lost = max((shard.lost_faults for shard in shards), default=0)
        hinting = sum(len(shard.hinting) for shard in shards)
        sentences += unseen_of_faults(hinting, counted, lost)
    sentences += [
        sentence for flag, sentence in _OF_FLAGS if any(shard.has(flag) for shard in shards)
    ]
    if without := _executed_without_us(shards):
        sentences.append(
            f"{without} processes executed a program that was not recorded. Possible causes: the "
            "program has other privileges (set-user-ID), it is for another architecture, its root "
            "directory does not contain Numascape, or the process was killed."
        )
    killed = sum(
        not shard.has(native.FLAG_ENDED | native.FLAG_REPLACED | native.FLAG_DETACHED)
        for shard in shards
    )
    if killed:
        sentences.append(
            f"{killed} of {len(shards)} processes were killed. The nodes of their pages at the end "
            "are unknown."
        )
    if damaged := sum(shard.damaged for shard in shards):
        sentences.append(f"{damaged} parts of the recorded data are damaged and left out.")
    if ambiguous := sum(shard.ambiguous_pages for shard in shards):
        sentences.append(
            f"{ambiguous} pages have addresses that the recorder cannot distinguish, because they "
            "are equal modulo 1 TiB. Their counts may belong to two structures."
        )
    shared = sum(shard.shared_page_accesses for shard in shards)
    if recorder not in {"faults", "samples"} and accesses and shared / accesses >= 0.001:
        sentences.append(
            f"{share_text(shared / accesses)} of the accesses were to heap pages that contain "
            "blocks from several call stacks. These accesses are divided among the call stacks, "
            "by samples of the cache lines that were used, or by their bytes on the page."
        )
    return sentences
