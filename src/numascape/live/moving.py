# SPDX-License-Identifier: Apache-2.0
"""Moves pages of a running process, in steps so short that it hardly notices them.

A step is at most 1280 pages of 4 KiB, and about 20 ms. The first one has 32 pages, because its time
is not known; the next ones grow while they are short. katalyst-core moves the pages of services in
such steps (its pull request 477). After each step the kernel is asked where the pages are, because
the results of move_pages(2) alone do not show it.
"""

from __future__ import annotations

import errno
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape._native import live as native
from numascape.errors import NumascapeError
from numascape.live.page_sets import PageSet
from numascape.live.pinned import in_buffers, pinned_bytes
from numascape.live.policies import Addresses, NodeNumbers
from numascape.live.refusals import calls_refused, may_move_shared
from numascape.live.room import Room
from numascape.live.targets import TargetProcess, read_stat
from numascape.trace.format import PAGE_BYTES

LARGEST_STEP: Final = 1280 * PAGE_BYTES
FIRST_STEP: Final = 32 * PAGE_BYTES
_SMALLEST_STEP: Final = 16 * PAGE_BYTES
_LONGEST_S: Final = 0.020
_ATTEMPTS: Final = 3

# The kernel only looks at how often a page is mapped.
SHARED: Final = "other processes also map them, or this one maps them twice"
BUSY: Final = "busy: pinned, being written, or used by the kernel"
PINNED: Final = "pinned: in a registered buffer of io_uring"
FULL: Final = "the node has no free memory above its watermarks"
NO_MEMORY: Final = "the kernel found no memory on the node"
GONE: Final = "no longer in memory"
NOT_ALLOWED: Final = "the node is not allowed (cpuset)"
WITH_ANOTHER: Final = "the kernel moves them only together with neighbouring pages"
OTHER: Final = "the kernel gave another reason"
_REASONS: Final = {
    errno.EACCES: SHARED,
    errno.EBUSY: BUSY,
    errno.EAGAIN: BUSY,
    errno.EIO: BUSY,
    errno.ENOENT: GONE,
    errno.EFAULT: GONE,
    errno.ENOMEM: NO_MEMORY,
    errno.ENODEV: NOT_ALLOWED,
    -native.NOT_TRIED: BUSY,
}


@dataclass
class Account:
    """The result of a move, in bytes. `moved` is by (node before, node now).

    `failed` is by reason. `ending` is "" if all was tried, or else why not. `longest_s` is the
    longest of the `steps`, in seconds. `verified` is what the kernel has on the wanted nodes, of
    `tried` bytes: at the end, or after each step if it was interrupted. `pinned` is the memory of
    the process that the kernel counts as pinned, if pages were busy.
    """

    moved: Counter[tuple[int, int]] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    tried: int = 0
    verified: int = 0
    steps: int = 0
    longest_s: float = 0.0
    seconds: float = 0.0
    pinned: int = 0
    ending: str = ""

    @property
    def moved_bytes(self) -> int:
        """All that was moved."""
        return sum(self.moved.values())


@dataclass(frozen=True)
class Pace:
    """The speed of a move; None: as fast as possible. If `is_stopped` is true, the move ends."""

    bytes_per_s: float | None = None
    is_stopped: Callable[[], bool] = lambda: False
    shows: Callable[[int], None] = lambda _bytes: None


def move_pages(
    target: TargetProcess, sets: Sequence[PageSet], pace: Pace, shared: bool = False
) -> Account:
    """Move the pages to the nodes that they want; ends early if stopped or if the process ends.

    `shared`: also pages that other processes map. Raises NumascapeError if the kernel forbids it.
    """
    if shared and not may_move_shared():
        raise NumascapeError(
            "pages that other processes map can be moved only with CAP_SYS_NICE: use sudo, or "
            "leave out --shared"
        )
    mover = _Mover(target, pace, shared)
    begin = time.monotonic()
    try:
        for pages in sets:
            mover.move(pages)
    except _EndedError as ending:
        mover.account.ending = str(ending)
    mover.account.seconds = time.monotonic() - begin
    _verify(mover, pace)
    return mover.account


class _EndedError(Exception):
    """The move ends early; the message says why."""


class _Step:
    """A few pages that are moved together: where they are `now`, and what the kernel answered.

    `full`: the node that the page wants has no room for it.
    """

    def __init__(self, pages: PageSet) -> None:
        self.pages = pages
        self.now = pages.before
        self.results = np.full(len(pages.addresses), native.NOT_TRIED, np.int32)
        self.full = np.zeros(len(pages.addresses), bool)

    def left(self) -> npt.NDArray[np.intp]:
        """The pages that are not on their nodes and can be tried again."""
        wrong = self.now != self.pages.wanted
        return np.flatnonzero(wrong & ~self.full & _can_be_retried(self.results))

    def reason(self, page: int) -> str:
        """The reason why the page is not on its node."""
        if self.full[page]:
            return FULL
        return _reason(int(self.results[page]), int(self.now[page]))


class _Mover:
    def __init__(self, target: TargetProcess, pace: Pace, shared: bool) -> None:
        self.target = target
        self.account = Account()
        self.tried: list[PageSet] = []
        self._pace = pace
        self._shared = shared
        self._room = Room(target.root)
        self._step = FIRST_STEP
        self._first_image = self._image()

    def move(self, pages: PageSet) -> None:
        """Move the pages of a set, step by step."""
        at = 0
        while at < len(pages.addresses):
            if self._pace.is_stopped():
                raise _EndedError("interrupted")
            self._check_process()
            # At least one page, also if it is larger than a step.
            upto = np.cumsum(pages.sizes[at : at + LARGEST_STEP // PAGE_BYTES], dtype=np.uint64)
            end = at + max(1, int(np.searchsorted(upto, self._step, side="right")))
            begin = time.monotonic()
            step = pages.chosen(slice(at, end))
            self._one_step(step)
            self._wait(begin, step.total)
            at = end

    def _check_process(self) -> None:
        if not self.target.is_alive:
            raise _EndedError("the process has ended")
        # 0 means unknown, because this user may not examine the process.
        if self._first_image and self._image() not in {0, self._first_image}:
            raise _EndedError("the process executed another program")

    def _image(self) -> int:
        """Something that changes when the process executes a program."""
        stat = read_stat(self.target.folder / "stat")
        return 0 if stat is None else stat.stack

    def _wait(self, begin: float, size: int) -> None:
        """Keep the rate; a signal ends the waiting within a tenth of a second."""
        self._pace.shows(size)
        if self._pace.bytes_per_s is None:
            return
        until = begin + size / self._pace.bytes_per_s
        while (left := until - time.monotonic()) > 0 and not self._pace.is_stopped():
            time.sleep(min(left, 0.1))

    def _one_step(self, pages: PageSet) -> None:
        step = _Step(pages)
        spent = 0.0
        for _ in range(_ATTEMPTS):
            left = step.left()
            if not len(left):
                break
            spent += self._call(step, left)
            step.now = self._ask(pages.addresses)
        self._adapt(spent)
        self._note(step)
        self.tried.append(pages)

    def _call(self, step: _Step, left: npt.NDArray[np.intp]) -> float:
        """One call per node, because the kernel ends a call at a page that it cannot move.

        Explicit huge pages come from a pool of their own, and not from the free memory.
        """
        pages = step.pages
        explicit = pages.page_bytes > PAGE_BYTES
        longest = 0.0
        for node in np.unique(pages.wanted[left]):
            group = left[pages.wanted[left] == node]
            size = int(pages.sizes[group].sum(dtype=np.uint64))
            if not explicit and not self._room.grant(int(node), size):
                step.full[group] = True
                continue
            begin = time.monotonic()
            error, found = native.move_pages(
                self.target.pid, pages.addresses[group], pages.wanted[group], self._shared
            )
            longest += time.monotonic() - begin
            if error == errno.ESRCH:
                raise _EndedError("the process has ended")
            if error == errno.EPERM:
                refused = (
                    calls_refused() or f"{self.target} may not be changed by this user: use sudo"
                )
                # After the first step, no exception: the result must say what was moved.
                if self.account.steps:
                    raise _EndedError(f"the kernel forbids the rest: {refused}")
                raise NumascapeError(refused)
            step.results[group] = found if error == 0 else _of_call(error, found)
        return longest

    def _ask(self, addresses: Addresses) -> NodeNumbers:
        try:
            return native.query_nodes(self.target.pid, addresses)
        except PermissionError as error:
            raise _EndedError(
                f"the kernel forbids the rest: {self.target} may not be examined any more"
            ) from error
        except OSError as error:
            raise _EndedError("the process has ended") from error

    def _adapt(self, spent: float) -> None:
        self.account.steps += 1
        self.account.longest_s = max(self.account.longest_s, spent)
        if spent > _LONGEST_S:
            self._step = max(_SMALLEST_STEP, self._step // 2)
        elif spent < _LONGEST_S / 2:
            self._step = min(LARGEST_STEP, self._step * 2)

    def _note(self, step: _Step) -> None:
        before, wanted, sizes = step.pages.before, step.pages.wanted, step.pages.sizes
        now = step.now
        self.account.tried += int(sizes.sum(dtype=np.uint64))
        self.account.verified += int(sizes[now == wanted].sum(dtype=np.uint64))
        for pair in {*zip(before.tolist(), wanted.tolist(), strict=True)}:
            arrived = (before == pair[0]) & (wanted == pair[1]) & (now == wanted)
            if arrived.any():
                self.account.moved[pair] += int(sizes[arrived].sum(dtype=np.uint64))
        reasons = {number: step.reason(number) for number in np.flatnonzero(now != wanted).tolist()}
        busy = np.array([number for number, why in reasons.items() if why == BUSY], np.intp)
        if len(busy):
            in_buffer = in_buffers(self.target, step.pages.addresses[busy])
            reasons |= dict.fromkeys(busy[in_buffer].tolist(), PINNED)
            self.account.pinned = max(self.account.pinned, pinned_bytes(self.target))
        for number, reason in reasons.items():
            self.account.failed[reason] += int(sizes[number])


def _can_be_retried(results: NodeNumbers) -> npt.NDArray[np.bool_]:
    retried = [native.NOT_TRIED, -errno.EBUSY, -errno.EAGAIN]
    return np.isin(results, retried) | (results >= 0)


def _of_call(error: int, found: NodeNumbers) -> NodeNumbers:
    """The results of pages of a call that failed: those without a result have the call's error.

    EACCES as the result of a page means that other processes map the page. EACCES as the error of
    the call means that the cpuset of the process forbids the node (mm/migrate.c, do_pages_move).
    """
    if error == errno.EACCES:
        error = errno.ENODEV
    return np.where(found == native.NOT_TRIED, -error, found).astype(np.int32)


def _reason(result: int, now: int) -> str:
    if now in {-errno.ENOENT, -errno.EFAULT}:
        return GONE
    if result >= 0:
        return WITH_ANOTHER
    return _REASONS.get(-result, OTHER)


def _verify(mover: _Mover, pace: Pace) -> None:
    """At the end, ask once more where all pages are that were tried, unless it is stopped.

    This may take long. If it is stopped, the answers after each step stay in the account.
    """
    verified = 0
    for pages in mover.tried:
        if pace.is_stopped():
            return
        try:
            now = native.query_nodes(mover.target.pid, pages.addresses)
        except OSError:
            break
        verified += int(pages.sizes[now == pages.wanted].sum(dtype=np.uint64))
    mover.account.verified = verified


def by_pair(sets: Sequence[PageSet]) -> Iterator[tuple[int, int, int]]:
    """The bytes to move by node before and node wanted."""
    sums: Counter[tuple[int, int]] = Counter()
    for pages in sets:
        pairs = np.stack([pages.before, pages.wanted], axis=1)
        kinds, index = np.unique(pairs, axis=0, return_inverse=True)
        totals = np.bincount(index.ravel(), weights=pages.sizes, minlength=len(kinds))
        for (before, wanted), total in zip(kinds.tolist(), totals.tolist(), strict=True):
            sums[before, wanted] += int(total)
    for (before, wanted), total in sorted(sums.items()):
        yield before, wanted, total
