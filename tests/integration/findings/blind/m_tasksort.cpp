// SPDX-License-Identifier: Apache-2.0
// Main fills both arrays. Tasks sort them, and any thread may take a task.
// label: column = pages change users
// action: column = spread | divide
// harm: column = copy | pad
// label: scratch = pages change users
// action: scratch = spread | divide
// harm: scratch = copy | pad
// Merge sort of (key, row id) pairs with OpenMP tasks, as used before a sort-merge join.
//   usage: tasksort [pairs] [threads]
#include <omp.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Pair {
    uint32_t key;
    uint32_t row;
    bool operator<(const Pair& o) const { return key < o.key || (key == o.key && row < o.row); }
};

static constexpr size_t LEAF = 1 << 14;
static constexpr size_t MERGE_LEAF = 1 << 15;

// merge a[0,na) and b[0,nb) to out, splitting large merges into tasks
static void pmerge(const Pair* a, size_t na, const Pair* b, size_t nb, Pair* out) {
    if (na + nb <= MERGE_LEAF) {
        std::merge(a, a + na, b, b + nb, out);
        return;
    }
    if (na < nb) {
        std::swap(a, b);
        std::swap(na, nb);
    }
    size_t ma = na / 2;
    size_t mb = std::lower_bound(b, b + nb, a[ma]) - b;
#pragma omp task
    pmerge(a, ma, b, mb, out);
    pmerge(a + ma, na - ma, b + mb, nb - mb, out + ma + mb);
#pragma omp taskwait
}

// sort x[0,n); the result goes to x, or to tmp when into_tmp is set
static void psort(Pair* x, Pair* tmp, size_t n, bool into_tmp) {
    if (n <= LEAF) {
        std::sort(x, x + n);
        if (into_tmp) std::copy(x, x + n, tmp);
        return;
    }
    size_t h = n / 2;
#pragma omp task
    psort(x, tmp, h, !into_tmp);
    psort(x + h, tmp + h, n - h, !into_tmp);
#pragma omp taskwait
    if (into_tmp)
        pmerge(x, h, x + h, n - h, tmp);
    else
        pmerge(tmp, h, tmp + h, n - h, x);
}

static std::vector<Pair> read_column(size_t n) {
    std::vector<Pair> v;
    v.reserve(n);
    uint64_t z = 0x2545F4914F6CDD1Dull;
    for (size_t i = 0; i < n; i++) {
        z ^= z << 13;
        z ^= z >> 7;
        z ^= z << 17;
        v.push_back({(uint32_t)(z >> 33), (uint32_t)i});
    }
    return v;
}

int main(int argc, char** argv) {
    size_t n = argc > 1 ? strtoul(argv[1], nullptr, 10) : 2000000;
    int nt = argc > 2 ? atoi(argv[2]) : 4;

    std::vector<Pair> column = read_column(n);
    std::vector<Pair> scratch(n);

#pragma omp parallel num_threads(nt)
#pragma omp single
    psort(column.data(), scratch.data(), n, false);

    uint64_t cs = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && column[i] < column[i - 1]) {
            printf("not sorted at %zu\n", i);
            return 1;
        }
        if (i % 61 == 0) cs = cs * 1099511628211ull + column[i].row;
    }
    printf("checksum %016llx pairs %zu\n", (unsigned long long)cs, n);
}
