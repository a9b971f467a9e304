# SPDX-License-Identifier: Apache-2.0
"""The trace knows the machine's nodes, and on which of them each thread ran."""

from vm.conftest import NODES, GuestRun


def test_nodes_have_their_cpus_and_memory(guest_run: GuestRun) -> None:
    nodes = guest_run.trace.info.machine.nodes
    assert [node.node for node in nodes] == [0, 1, 2, 3, 4]
    # CPU 4 of node 3 is offline; node 4 has none.
    assert [node.cpus for node in nodes] == [(0,), (1,), (2,), (3,), ()]
    for node, made in zip(nodes, NODES, strict=True):
        # The kernel keeps some memory for itself.
        assert 0.8 < node.memory_bytes / (made.memory_mib << 20) <= 1


def test_the_host_is_the_guest(guest_run: GuestRun) -> None:
    host = guest_run.trace.info.host
    assert (host.cpus, host.nodes) == (4, 5)
    assert "-cloud-amd64" in host.kernel


def test_pinned_threads_have_their_cpu_and_its_node(guest_run: GuestRun) -> None:
    threads = guest_run.trace.threads.sort("thread")
    assert threads["thread"].to_list() == list(range(7))
    # Thread 1 stays on CPU 0 until the end of the process. Thread 2 begins on CPU 1, where it does
    # not work, stays on CPU 2, and ends on CPU 3. Main binds itself to a thread's CPU before it
    # starts the thread, and to CPU 3 at the end.
    for column in ("cpus", "nodes"):
        assert threads[column].to_list()[1:] == [[0], [2, 3], [0], [1], [2], [3]]
        assert 3 in threads[column].to_list()[0]
