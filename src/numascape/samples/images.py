# SPDX-License-Identifier: Apache-2.0
"""The programs that processes ran, with their samples: an image for each program."""

from __future__ import annotations

from dataclasses import dataclass, field

from numascape.samples.events import Forked, NameGiven, RangeMapped, Recording, Sample
from numascape.samples.memory import Memory, Modules


@dataclass
class ImageThread:
    """A thread of an image, with the times of its first and its last event."""

    tid: int
    created: int
    name: str = ""
    ended: int = 0
    cpus: set[int] = field(default_factory=set)


@dataclass
class Image:
    """A process since its start, or since its last exec."""

    pid: int
    program: str
    memory: Memory = field(default_factory=Memory)
    modules: Modules = field(default_factory=Modules)
    threads: dict[int, ImageThread] = field(default_factory=dict)
    samples: list[tuple[Sample, RangeMapped | None]] = field(default_factory=list)

    def thread(self, tid: int, time: int) -> ImageThread:
        """The thread, which is seen at this time."""
        return self.threads.setdefault(tid, ImageThread(tid, time))


def images_of(recording: Recording) -> list[Image]:
    """The images with samples, in order of time; a process has one for each exec."""
    images: list[Image] = []
    running: dict[int, Image] = {}

    def image(pid: int) -> Image:
        if pid not in running:
            running[pid] = Image(pid, "")
            images.append(running[pid])
        return running[pid]

    for event in recording.events:
        if isinstance(event, Sample):
            own = image(event.pid)
            thread = own.thread(event.tid, event.time_ns)
            thread.ended = event.time_ns
            if event.cpu is not None:
                thread.cpus.add(event.cpu)
            if event.address:
                own.samples.append((event, own.memory.at(event.address)))
        elif isinstance(event, RangeMapped):
            own = image(event.pid)
            own.memory.add(event)
            own.modules.add(event)
            # The executable is the first file that a process maps.
            if not own.program and event.path in own.modules.modules:
                own.program = event.path
        elif isinstance(event, Forked):
            if event.pid == event.parent_pid:
                image(event.pid).thread(event.tid, event.time_ns)
                continue
            parent = image(event.parent_pid)
            child = Image(event.pid, parent.program, parent.memory.copy())
            child.modules.modules = dict(parent.modules.modules)
            running[event.pid] = child
            images.append(child)
        elif isinstance(event, NameGiven):
            if event.executed:
                running[event.pid] = Image(event.pid, "")
                images.append(running[event.pid])
            image(event.pid).thread(event.tid, event.time_ns).name = event.name
    return [each for each in images if each.samples]
