# SPDX-License-Identifier: Apache-2.0
"""Assigns test files to the processes of pytest-xdist, also if a process dies."""

from __future__ import annotations

from contextlib import suppress

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

GUESTS = "tests/vm/"
# Files whose tests run in one process, one after the other.
_IN_TURN = (
    # A guest has more CPUs than the machine, and what its kernel does with pages depends on timing.
    (GUESTS,),
    # Both build in the package's folder.
    ("tests/quality/test_native.py", "tests/quality/test_package.py"),
    # They use the same constructed runs, which one process makes once.
    tuple(
        f"tests/unit/{folder}/test_reference.py"
        for folder in ("analysis", "findings", "placement", "prediction")
    ),
)


class FilesTogether(LoadFileScheduling):
    """Run the tests of a file, or of files in turn, in one process, which makes fixtures once."""

    def _split_scope(self, nodeid: str) -> str:
        in_turn = (paths[0] for paths in _IN_TURN if nodeid.startswith(paths))
        return next(in_turn, None) or super()._split_scope(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """Hand out the tests that a dead process has left; return the one that killed it, if any.

        The base class hands out too much: the test that killed one process would kill the next
        one too, and files without a test left give a process nothing to report.
        """
        left = {
            scope: [test for test, is_done in unit.items() if not is_done]
            for scope, unit in self.assigned_work.pop(node).items()
        }
        unfinished = [test for tests in left.values() for test in tests]
        if not unfinished:
            return None
        killer: str = unfinished[0]
        for scope, tests in reversed(left.items()):
            waiting = {test: False for test in tests if test != killer}
            if waiting:
                self.workqueue[scope] = waiting
                self.workqueue.move_to_end(scope, last=False)
        for other in self.assigned_work:
            self._reschedule(other)
        return killer

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Give tests also to a process that has just died: `remove_node` hands them out again."""
        with suppress(OSError):  # its channel is closed, but xdist does not know yet that it died
            super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        """Give a process at least two tests, or say that there are no more.

        A process begins a test only when it knows the next one. The base class gives a single file
        to a process that replaces another one: if this file has one test left, the process would
        wait forever.
        """
        if node not in self.registered_collections:  # it is still starting
            return
        super()._reschedule(node)
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            super()._reschedule(node)
