// SPDX-License-Identifier: Apache-2.0
//
// triad --bytes B --nodes N,N... [--policy first-touch|bind|interleave] [--samples K]
//       [--ranks R --meeting FILE] [--threads T]
//
// The vector triad a = b + c * d over a part of the host's memory, for `numascape host experiment`.
// The workers are either T threads of one process, or R processes of an MPI launcher with one
// worker each. Processes synchronise at a barrier in FILE, which all must be able to map; the first
// process initialises it. A process gets its rank from variables of the launcher. Worker w of W
// runs on the CPUs of nodes[w * count / W], and has B / W bytes: four vectors of doubles.
//   first-touch: the kernel's default; bind: only the worker's node; interleave: all `nodes`.
// At the end, prints a line of JSON for each worker:
//   {"worker": 0, "node": 0, "mflops": [812.5, 815.1], "pages": {"0": 65536}}
// mflops: of all workers together, between two barriers. A worker that left the first barrier late
// measures too short a time; the minimum over the workers is therefore correct.
// Exit status: 0, or 2 with one line on standard error.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arguments/number_words.h"
#include "node_pages.h"

using namespace numascape;
using namespace numascape::host;

namespace {

// A barrier in memory that all workers share, initially zero. `meeting` is the number of the round.
// A worker that waits long sleeps, because with more workers than CPUs it would slow down the
// others.
struct Barrier {
    static constexpr int kYields = 10'000;
    static constexpr std::chrono::microseconds kSleep{50};

    std::atomic<unsigned> arrived;
    std::atomic<unsigned> meeting;

    void wait(unsigned all) {
        const unsigned now = meeting.load();
        if (arrived.fetch_add(1) + 1 == all) {
            arrived.store(0);
            meeting.fetch_add(1);
            return;
        }
        for (int turns = 0; meeting.load() == now; ++turns) {
            if (turns < kYields) {
                sched_yield();
            } else {
                std::this_thread::sleep_for(kSleep);
            }
        }
    }
};
static_assert(std::atomic<unsigned>::is_always_lock_free);

struct Request {
    std::size_t bytes = 0;
    std::vector<int> nodes;
    std::string policy = "first-touch";
    unsigned samples = 3;
    unsigned ranks = 1;
    unsigned threads = 1;
    std::string meeting;
};

Request parse(int argc, char** argv) {
    Request request;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i], value = argv[i + 1];
        if (name == "--bytes") {
            request.bytes = number<std::size_t>(value);
        } else if (name == "--nodes") {
            request.nodes = numbers<int>(value);
        } else if (name == "--policy") {
            request.policy = value;
        } else if (name == "--samples") {
            request.samples = number<unsigned>(value);
        } else if (name == "--ranks") {
            request.ranks = number<unsigned>(value);
        } else if (name == "--threads") {
            request.threads = number<unsigned>(value);
        } else if (name == "--meeting") {
            request.meeting = value;
        } else {
            throw std::runtime_error("unknown option: " + std::string(name));
        }
    }
    if (request.nodes.empty() || request.bytes == 0 || request.ranks == 0 || !request.threads) {
        throw std::runtime_error("usage: triad --bytes B --nodes N,N... with options");
    }
    if (request.ranks > 1 && request.meeting.empty()) {
        throw std::runtime_error("missing: --meeting");
    }
    return request;
}

// The variables of Open MPI, of PMIx, of MPICH and Intel MPI, and of Slurm.
unsigned rank_of_this_process() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
        if (const char* value = std::getenv(name)) return number<unsigned>(value);
    }
    throw std::runtime_error("the MPI launcher does not tell this process its rank");
}

Barrier* shared_barrier(const std::string& path) {
    int file = -1;
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    if (!path.empty()) {
        flags = MAP_SHARED;
        file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0 || ftruncate(file, static_cast<off_t>(page_size())) != 0) {
            throw std::system_error(errno, std::generic_category(), path);
        }
    }
    void* mapped = mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, flags, file, 0);
    if (file >= 0) close(file);
    if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    return static_cast<Barrier*>(mapped);
}

// Binds to the CPUs of the node that this process may use; does nothing if there is none.
void run_on(int node) {
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    std::string list;
    cpu_set_t allowed, wanted;
    if (!(file >> list) || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    CPU_ZERO(&wanted);
    for (std::string_view rest = list; !rest.empty();) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string_view range = rest.substr(0, comma);
        const std::size_t dash = range.find('-');
        const int first = number<int>(range.substr(0, dash));
        const int last =
            dash == std::string_view::npos ? first : number<int>(range.substr(dash + 1));
        for (int cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++) CPU_SET(cpu, &wanted);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    CPU_AND(&wanted, &wanted, &allowed);
    if (CPU_COUNT(&wanted) > 0) sched_setaffinity(0, sizeof wanted, &wanted);
}

struct Result {
    int node = 0;
    std::vector<double> mflops;
    NodeCounts pages;
};

void triad(double* a, const double* b, const double* c, const double* d, std::size_t length) {
    for (std::size_t i = 0; i < length; i++) a[i] = b[i] + c[i] * d[i];
}

Result work(const Request& request, unsigned worker, unsigned all, Barrier& barrier) {
    Result result;
    result.node = request.nodes[worker * request.nodes.size() / all];
    run_on(result.node);
    const std::size_t length = std::max<std::size_t>(request.bytes / all / 4 / 8, 1);
    const std::size_t bytes = (4 * 8 * length + page_size() - 1) / page_size() * page_size();
    std::byte* memory = map_memory(bytes);
    const int own[] = {result.node};
    bool placed = true;
    if (request.policy == "bind") {
        placed = set_policy(memory, bytes, NodePolicy::kBind, own);
    } else if (request.policy == "interleave") {
        placed = set_policy(memory, bytes, NodePolicy::kInterleave, request.nodes);
    } else if (request.policy != "first-touch") {
        throw std::runtime_error("unknown policy: " + request.policy);
    }
    if (!placed) throw std::runtime_error("policies of memory are not permitted here (mbind)");
    auto* a = reinterpret_cast<double*>(memory);
    double *b = a + length, *c = b + length, *d = c + length;
    barrier.wait(all);
    for (std::size_t i = 0; i < 4 * length; i++) a[i] = 1.0;
    barrier.wait(all);
    for (unsigned sample = 0; sample < request.samples; sample++) {
        const auto start = std::chrono::steady_clock::now();
        triad(a, b, c, d, length);
        barrier.wait(all);
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        result.mflops.push_back(2e-6 * static_cast<double>(length) * all / spent.count());
    }
    result.pages = count_nodes(memory, bytes);
    barrier.wait(all);
    munmap(memory, bytes);
    return result;
}

// Each line is written with one call, because a launcher mixes lines of several processes.
void print(unsigned worker, const Result& result) {
    std::printf("{\"worker\": %u, \"node\": %d, \"mflops\": [", worker, result.node);
    for (std::size_t i = 0; i < result.mflops.size(); i++) {
        std::printf("%s%.6g", i == 0 ? "" : ", ", result.mflops[i]);
    }
    std::printf("], \"pages\": ");
    print_counts(result.pages);
    std::printf("}\n");
    std::fflush(stdout);
}

[[noreturn]] void give_up(const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    // The other workers would wait for this worker at the barrier forever.
    std::_Exit(2);
}

void run(const Request& request) {
    Barrier& barrier = *shared_barrier(request.meeting);
    if (request.ranks > 1) {
        const unsigned rank = rank_of_this_process();
        print(rank, work(request, rank, request.ranks, barrier));
        return;
    }
    std::mutex printing;
    std::vector<std::thread> threads;
    for (unsigned worker = 0; worker < request.threads; worker++) {
        threads.emplace_back([&, worker] {
            try {
                const Result result = work(request, worker, request.threads, barrier);
                const std::lock_guard lock(printing);
                print(worker, result);
            } catch (const std::exception& error) {
                give_up(error);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
    // A line is one write, so output of other processes cannot split it.
    std::setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
    try {
        run(parse(argc, argv));
    } catch (const std::exception& error) {
        give_up(error);
    }
    return 0;
}
