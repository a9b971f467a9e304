// SPDX-License-Identifier: Apache-2.0
// Columnar aggregation (SELECT key, SUM, COUNT GROUP BY key, four times): per-thread hash tables,
// then a merge by key range. std::thread (main is one of four); main loads the columns, as a reader
// of a file does.
// label: key = serial first touch
// Why: main loads the column, and each thread then scans only its own quarter.
// action: key = local|parallelise the existing loop
// label: val = serial first touch
// Why: it is loaded with the key, and scanned in the same quarters.
// action: val = local|parallelise the existing loop
// label: slots = partitioned
// Why: each thread makes and fills its own hash table; the merge reads all tables, but this is
// under a tenth.
// label: totals = partitioned
// Why: a thread merges and writes its own range of keys; nobody wrote it before.
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr int kQueries = 4;
constexpr std::size_t kRows = 1u << 20;
constexpr std::uint32_t kGroups = 20000;
constexpr std::uint32_t kEmpty = 0xffffffffu;

struct Columns {
    std::unique_ptr<std::uint32_t[]> key;
    std::unique_ptr<double[]> val;
};

struct Slot {
    std::uint32_t group;
    std::uint32_t count;
    double sum;
};

class GroupTable {
  public:
    static constexpr std::uint32_t kSize = 65536;

    GroupTable() : slots(new Slot[kSize]) {}
    ~GroupTable() { delete[] slots; }
    GroupTable(const GroupTable&) = delete;
    GroupTable& operator=(const GroupTable&) = delete;

    void clear() {
        for (std::uint32_t i = 0; i < kSize; i++) slots[i] = {kEmpty, 0, 0.0};
    }

    void add(std::uint32_t group, double value) {
        // The order of keys is kept, so that a range of keys is a range of slots, nearly.
        std::uint32_t at = static_cast<std::uint32_t>(std::uint64_t{group} * kSize / kGroups);
        while (slots[at].group != group && slots[at].group != kEmpty) at = (at + 1) % kSize;
        slots[at].group = group;
        slots[at].count++;
        slots[at].sum += value;
    }

    const Slot* find(std::uint32_t group) const {
        std::uint32_t at = static_cast<std::uint32_t>(std::uint64_t{group} * kSize / kGroups);
        while (slots[at].group != kEmpty) {
            if (slots[at].group == group) return &slots[at];
            at = (at + 1) % kSize;
        }
        return nullptr;
    }

  private:
    Slot* slots;
};

struct Total {
    double sum;
    std::uint64_t count;
};

Columns load() {
    Columns columns{std::make_unique_for_overwrite<std::uint32_t[]>(kRows),
                    std::make_unique_for_overwrite<double[]>(kRows)};
    std::uint32_t state = 7;
    for (std::size_t row = 0; row < kRows; row++) {
        state = state * 1664525u + 1013904223u;
        columns.key[row] = (state >> 8) % kGroups;
        columns.val[row] = static_cast<double>(row % 101);
    }
    return columns;
}

template <typename Work>
void on_all(Work work) {
    std::vector<std::thread> threads;
    for (int t = 1; t < kThreads; t++) threads.emplace_back(work, t);
    work(0);
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
    const Columns columns = load();
    std::unique_ptr<Total[]> totals = std::make_unique_for_overwrite<Total[]>(kGroups);
    std::unique_ptr<GroupTable> tables[kThreads];

    std::barrier step(kThreads);
    auto query = [&](int t, double factor) {
        GroupTable& table = *tables[t];
        table.clear();
        const std::uint32_t* key = columns.key.get();
        const double* val = columns.val.get();
        const std::size_t first = kRows * t / kThreads, last = kRows * (t + 1) / kThreads;
        for (std::size_t row = first; row < last; row++) {
            table.add(key[row], factor * val[row]);
        }
        step.arrive_and_wait();
        for (std::uint32_t group = kGroups * t / kThreads; group < kGroups * (t + 1) / kThreads;
             group++) {
            Total total{0, 0};
            for (const auto& table : tables) {
                if (const Slot* slot = table->find(group)) {
                    total.sum += slot->sum;
                    total.count += slot->count;
                }
            }
            totals[group] = total;
        }
        step.arrive_and_wait();
    };
    on_all([&](int t) {
        tables[t] = std::make_unique<GroupTable>();
        for (int pass = 1; pass <= kQueries; pass++) query(t, pass);
    });

    double sum = 0, wanted = 0;
    std::uint64_t rows = 0;
    for (std::uint32_t group = 0; group < kGroups; group++) {
        sum += totals[group].sum;
        rows += totals[group].count;
    }
    for (std::size_t row = 0; row < kRows; row++)
        wanted += kQueries * static_cast<double>(row % 101);
    std::printf("%zu rows, sum %.0f\n", static_cast<std::size_t>(rows), sum);
    return rows == kRows && sum == wanted ? 0 : 1;
}
