# SPDX-License-Identifier: Apache-2.0
"""Programs that check whether they are disturbed: each prints "ready", and "right" at SIGUSR1."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from behaviour.servers import SERVERS, not_as_root

TESTS: Final = Path(__file__).parents[1] / "tests" / "integration" / "programs"

PYTHON: Final = """
import hashlib, signal, threading
stop = threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: stop.set())
results = set()
def work():
    while not stop.is_set():
        hashed, total = hashlib.sha256(), 0.0
        for i in range(20000):
            total += 1.0 / (i + 1)
            hashed.update(b"%d" % i)
        results.add((total, hashed.hexdigest()))
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
print("ready", flush=True)
work()
for thread in threads: thread.join()
print("right" if len(results) == 1 else results)
"""

SPAWNING: Final = """
import os, signal, threading
stop = threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: stop.set())
wrong = []
def work():
    while not stop.is_set():
        child = os.posix_spawn("/bin/true", ["true"], os.environ)
        status = os.waitpid(child, 0)[1]
        if status:
            wrong.append(status)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
print("ready", flush=True)
work()
for thread in threads: thread.join()
print(wrong or "right")
"""

FORTRAN: Final = """
program soak
  use iso_c_binding
  implicit none
  integer, parameter :: n = 2000000
  real(8), allocatable :: a(:)
  real(8) :: first, total
  integer :: i, wrong
  logical :: there
  character(len=200) :: stop_file
  call get_command_argument(1, stop_file)
  allocate(a(n))
  first = -1; wrong = 0
  print '(a)', 'ready'
  flush(6)
  do
    !$omp parallel do
    do i = 1, n
      a(i) = sqrt(real(i, 8))
    end do
    total = 0
    !$omp parallel do schedule(static) reduction(max:total)
    do i = 1, n
      total = max(total, a(i) * a(n + 1 - i))
    end do
    if (first < 0) first = total
    if (total /= first) wrong = wrong + 1
    inquire(file=trim(stop_file), exist=there)
    if (there) exit
  end do
  if (wrong == 0) print '(a)', 'right'
end program
"""

CXX: Final = """
#include <omp.h>

#include <csignal>
#include <cstdio>
#include <numeric>
#include <set>
#include <vector>

namespace {
volatile std::sig_atomic_t stop;

double once(std::vector<double>& values) {
    double total = 0;
    #pragma omp parallel for
    for (std::size_t i = 0; i < values.size(); i++) values[i] = 1.0 / double(i + 1);
    #pragma omp parallel for schedule(dynamic, 1000)
    for (std::size_t i = 0; i < values.size(); i++) values[i] *= double(i % 7);
    #pragma omp parallel for schedule(static) reduction(max : total)
    for (std::size_t i = 0; i < values.size(); i++) total = total < values[i] ? values[i] : total;
    std::vector<long> sums(100);
    #pragma omp parallel
    #pragma omp single
    for (std::size_t task = 0; task < sums.size(); task++) {
        #pragma omp task shared(sums)
        {
            std::vector<long> own(1000);
            std::iota(own.begin(), own.end(), long(task));
            sums[task] = std::accumulate(own.begin(), own.end(), 0L);
        }
    }
    return total + double(std::accumulate(sums.begin(), sums.end(), 0L));
}
}  // namespace

int main() {
    std::signal(SIGUSR1, [](int) { stop = 1; });
    omp_set_num_threads(4);
    std::vector<double> values(200000);
    std::set<double> results;
    std::puts("ready");
    std::fflush(stdout);
    while (!stop) results.insert(once(values));
    std::puts(results.size() == 1 ? "right" : "wrong");
}
"""

GO: Final = """
package main

import ("fmt"; "os"; "os/signal"; "sync/atomic"; "syscall")

var sums [4][512]int64

func work(k int, stop *int32, wrong chan int64) {
	var passes, bad int64
	counts := map[int64]int64{}
	for atomic.LoadInt32(stop) == 0 {
		block := make([]int64, 512)
		for i := range block { block[i] = int64(i); sums[k][i] += block[i] }
		counts[passes % 100]++
		passes++
	}
	for i, sum := range sums[k] { if sum != passes * int64(i) { bad++ } }
	for _, count := range counts { passes -= count }
	wrong <- bad + passes
}

func main() {
	var stop int32
	signals, wrong := make(chan os.Signal, 1), make(chan int64)
	signal.Notify(signals, syscall.SIGUSR1)
	for k := range sums { go work(k, &stop, wrong) }
	fmt.Println("ready")
	<-signals
	atomic.StoreInt32(&stop, 1)
	var all int64
	for range sums { all += <-wrong }
	if all == 0 { fmt.Println("right") } else { fmt.Println("wrong", all) }
}
"""

JAVA: Final = """
import java.util.*;
public class Soak {
    static long once() {
        Map<Integer, String> texts = new HashMap<>();
        long sum = 0;
        for (int i = 0; i < 20000; i++) texts.merge(i % 997, "x" + i, (a, b) -> b);
        for (var text : texts.entrySet()) sum += text.getKey() * (long) text.getValue().hashCode();
        return sum;
    }
    public static void main(String[] arguments) throws Exception {
        Set<Long> results = Collections.synchronizedSet(new HashSet<>());
        var stop = new java.io.File(arguments[0]);
        List<Thread> threads = new ArrayList<>();
        for (int k = 0; k < 3; k++) {
            threads.add(new Thread(() -> { while (!stop.exists()) results.add(once()); }));
        }
        for (Thread thread : threads) thread.start();
        System.out.println("ready");
        for (Thread thread : threads) thread.join();
        System.out.println(results.size() == 1 ? "right" : results);
    }
}
"""

NODE: Final = """
const { Worker, isMainThread, parentPort } = require("worker_threads");
function once() {
  const list = [];
  for (let i = 0; i < 20000; i++) list.push({ key: `k${i % 101}`, value: Math.sqrt(i) });
  return list.filter((o) => o.key !== "k7").reduce((sum, o) => sum + o.value, 0);
}
if (!isMainThread) {
  const results = new Set();
  const turn = () => { results.add(once()); setTimeout(turn, 0); };
  parentPort.on("message", () => { parentPort.postMessage([...results]); process.exit(); });
  turn();
} else {
  const workers = [1, 2].map(() => new Worker(__filename));
  const all = new Set();
  let left = workers.length;
  for (const worker of workers) {
    worker.on("message", (results) => results.forEach((result) => all.add(result)));
    worker.on("exit", () => --left || console.log(all.size === 1 ? "right" : [...all]));
  }
  let timer = setInterval(() => all.add(once()), 1);
  process.on("SIGUSR1", () => {});
  process.on("SIGUSR2", () => { clearInterval(timer); workers.forEach((w) => w.postMessage(0)); });
  console.log("ready");
}
"""


@dataclass(frozen=True)
class Running:
    """A program under test; `check` is called after each release, and `end` at the end.

    `attached` is the process to attach to, if it is not `process` itself.
    """

    process: subprocess.Popen[str]
    check: Callable[[], bool]
    end: Callable[[], bool]
    attached: int | None = None


def _started(command: list[str], stop: Callable[[subprocess.Popen[str]], None]) -> Running:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()

    def end() -> bool:
        stop(process)
        return process.communicate(timeout=600)[0] == "right\n"

    return Running(process, lambda: True, end)


def _signal(process: subprocess.Popen[str]) -> None:
    process.send_signal(10)


def test_program(name: str, *arguments: str) -> Running:
    """Start a program of the tests that checks itself."""
    folder = Path(tempfile.mkdtemp())
    subprocess.run(["make", "-s", "-C", TESTS, f"BUILD={folder}", folder / name], check=True)
    return _started([str(folder / name), *arguments], _signal)


def python_threads() -> Running:
    """Start four Python threads that repeat the same computation."""
    return _started([sys.executable, "-X", "faulthandler", "-c", PYTHON], _signal)


def spawning_threads() -> Running:
    """Start four Python threads that start children with posix_spawn."""
    return _started([sys.executable, "-X", "faulthandler", "-c", SPAWNING], _signal)


def fortran_openmp() -> Running:
    """Start a Fortran program of parallel loops."""
    folder = Path(tempfile.mkdtemp())
    (folder / "soak.f90").write_text(FORTRAN)
    compiler = ["gfortran", "-O2", "-fopenmp", "-o", str(folder / "soak")]
    subprocess.run([*compiler, str(folder / "soak.f90")], check=True)
    stop = folder / "stop"
    return _started([str(folder / "soak"), str(stop)], lambda _: stop.touch())


def cxx_openmp() -> Running:
    """Start a C++ program of parallel loops and tasks."""
    folder = Path(tempfile.mkdtemp())
    (folder / "soak.cpp").write_text(CXX)
    compiler = ["g++", "-O2", "-fopenmp", "-o", str(folder / "soak")]
    subprocess.run([*compiler, str(folder / "soak.cpp")], check=True)
    return _started([str(folder / "soak")], _signal)


def go() -> Running | None:
    """Start a Go program with four goroutines that allocate; None without a compiler."""
    if shutil.which("go") is None:
        return None
    folder = Path(tempfile.mkdtemp())
    (folder / "soak.go").write_text(GO)
    build = ["go", "build", "-o", str(folder / "soak"), str(folder / "soak.go")]
    subprocess.run(build, check=True)
    return _started([str(folder / "soak")], _signal)


def java() -> Running | None:
    """Start three Java threads that repeat the same computation; None without a compiler."""
    if shutil.which("javac") is None:
        return None
    folder = Path(tempfile.mkdtemp())
    (folder / "Soak.java").write_text(JAVA)
    subprocess.run(["javac", "-d", str(folder), str(folder / "Soak.java")], check=True)
    stop = folder / "stop"
    return _started(["java", "-cp", str(folder), "Soak", str(stop)], lambda _: stop.touch())


def node() -> Running | None:
    """Start node with two workers; None if it is not installed."""
    if shutil.which("node") is None:
        return None
    script = Path(tempfile.mkdtemp()) / "soak.js"
    script.write_text(NODE)
    return _started(["node", str(script)], lambda process: process.send_signal(signal.SIGUSR2))


class _Client(threading.Thread):
    """Asks a server all the time, also while it is recorded."""

    def __init__(self, ask: Callable[[Path], str], folder: Path) -> None:
        super().__init__(daemon=True)
        self._ask, self._folder = ask, folder
        self._stopped = threading.Event()
        self.answers: set[str] = {ask(folder)}

    def run(self) -> None:
        while not self._stopped.is_set():
            self.answers.add(self._ask(self._folder))

    def end(self) -> bool:
        """Stop, and return whether all answers were the same."""
        self._stopped.set()
        self.join()
        return len(self.answers) == 1


def server(name: str) -> Running | None:
    """Start a server of the tests with clients; None if it is not installed."""
    kind = SERVERS[name]
    if not all(
        shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") for program in kind.programs
    ):
        return None
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    folder.chmod(0o777)
    words = [str(word) for word in kind.prepare(folder)]
    output = (folder / "output").open("w")
    prefix = not_as_root() if kind.refuses_root else []
    process = subprocess.Popen([*prefix, *words], stdout=output, stderr=output, text=True)
    while not kind.is_ready(folder) and process.poll() is None:
        time.sleep(0.1)
    client = _Client(kind.ask, folder)
    client.start()

    def end() -> bool:
        same = client.end()
        process.terminate()
        return same and process.wait(600) == 0

    return Running(process, lambda: len(client.answers) == 1, end, kind.answering(process.pid))


PROGRAMS: Final[dict[str, Callable[[], Running | None]]] = {
    "C: registers of three threads": lambda: test_program("registers", "2"),
    "C: a handler of SIGSEGV": lambda: test_program("own_faults"),
    "C: thirteen calls that wait": lambda: test_program("waits"),
    "C: timers": lambda: test_program("timers"),
    "Python, four threads": python_threads,
    "Python, threads that start children": spawning_threads,
    "C++, OpenMP": cxx_openmp,
    "Fortran, OpenMP": fortran_openmp,
    "Go": go,
    "Java": java,
    "node": node,
    **{name: partial(server, name) for name in SERVERS},
}
