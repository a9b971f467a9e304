# SPDX-License-Identifier: Apache-2.0
"""What a recording could not see, in sentences for the reader of its report."""

from __future__ import annotations

from numascape._native import shard as native
from numascape.trace.counting import counts_of_faults
from numascape.trace.shards import Shard
from numascape.trace.uncounted import describe_uncounted


def unseen_of_faults(hinting: int, counted: int, lost: int) -> list[str]:
    """What page faults do not tell: so many of them were hinting faults.

    `counted` is how many of these the kernel counted meanwhile, of all processes.
    """
    first = "Who touched a page first, from where, and its node are exact."
    sampled = counts_of_faults(hinting) == "samples"
    if sampled:
        sentences = [
            "Accesses that were not sampled: the samples are hinting faults, which the kernel's "
            "NUMA balancing makes of a page's next access after each of its scans. They tell "
            "which threads use a page, not whether it is used more than another page, and count "
            f"as reads. {first}"
        ]
    else:
        sentences = [f"Every access after a page's first: the recording is of page faults. {first}"]
    if hinting > 0 and not sampled:
        sentences.append(
            f"The kernel's NUMA balancing sampled {hinting} accesses: too few to show."
        )
    if hinting > counted:
        sentences.append(
            f"The kernel counted {counted} hinting faults, but {hinting} faults looked like some: "
            "others are among the samples."
        )
    if lost:
        sentences.append(f"{lost} page faults came faster than they were read, and are missing.")
    return sentences


def not_seen(shards: list[Shard], accesses: int, recorder: str = "binary") -> list[str]:
    """One sentence per limit that this recording met; `accesses` is the run's total."""
    sentences: list[str] = []
    if recorder == "compiled":
        sentences.append(describe_uncounted(shards))
    if recorder == "faults":
        counted = max((shard.hinting_counted for shard in shards), default=0)
        lost = max((shard.lost_faults for shard in shards), default=0)
        hinting = sum(shard.hinting.height for shard in shards)
        sentences += unseen_of_faults(hinting, counted, lost)
    if any(shard.has(native.FLAG_DISK_FULL) for shard in shards):
        sentences.append(
            "The disk was full during the recording: counts of pages first used after that "
            "are missing."
        )
    if any(shard.has(native.FLAG_THREADS_LOST) for shard in shards):
        sentences.append("More than 16384 threads lived at once: those beyond were not counted.")
    if any(shard.has(native.FLAG_ATTACHED) for shard in shards):
        sentences.append(
            "The program was running before: first touches and allocations from before are unknown."
        )
    if any(shard.has(native.FLAG_CHILDREN_LOST) for shard in shards):
        sentences.append(
            "Forked processes that changed their user or root directory could not write what "
            "was counted: they are missing."
        )
    if any(shard.has(native.FLAG_PHASES_FOLDED) for shard in shards):
        sentences.append(
            "There were more phases than the recorder can count apart: the rest is counted as "
            'the phase "further phases".'
        )
    if any(shard.has(native.FLAG_BLOCKS_LOST) for shard in shards):
        sentences.append(
            "The program has more code than the recorder can tell apart: which source lines use "
            "a structure is not known for all of it."
        )
    killed = sum(
        not shard.has(native.FLAG_ENDED | native.FLAG_REPLACED | native.FLAG_DETACHED)
        for shard in shards
    )
    if killed:
        sentences.append(
            f"{killed} of {len(shards)} processes were killed: where their pages were at the end "
            "is unknown."
        )
    if damaged := sum(shard.damaged for shard in shards):
        sentences.append(f"{damaged} parts of the shards were damaged and left out.")
    if ambiguous := sum(shard.ambiguous_pages for shard in shards):
        sentences.append(
            f"{ambiguous} pages lie at addresses that the recorder cannot tell apart (equal "
            "modulo 1 TiB): their counts may be of two structures."
        )
    shared = sum(shard.shared_page_accesses for shard in shards)
    if recorder != "faults" and accesses and shared / accesses >= 0.001:
        sentences.append(
            f"{shared / accesses:.1%} of the accesses were on heap pages that hold blocks of "
            "several call stacks: they are divided among these by their bytes on the page."
        )
    return sentences
