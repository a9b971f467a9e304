// SPDX-License-Identifier: Apache-2.0
//
// Allocations by many call stacks.
//
//   call_stacks vectors       300 functions allocate a vector with the same name
//   call_stacks ways DEPTH    2^DEPTH call stacks allocate for `left`, and as many for `right`
//   call_stacks assembly      a function without call frame information calls malloc
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

constexpr int kVectors = 300;
constexpr size_t kPage = 4096;
constexpr size_t kWords = 16 * kPage / sizeof(uint64_t);

volatile uint64_t result;

template <int N>
__attribute__((noinline)) void fill() {
    std::vector<uint64_t> keep(kWords, N);
    result = result + keep[kWords - 1];
}

template <int... N>
void fill_all(std::integer_sequence<int, N...>) {
    using Function = void();
    Function* const functions[] = {fill<N>...};
    for (Function* function : functions) {
        function();
    }
}

// Separates the code before and after it. Compilers would join equal calls, and turn the last one
// into a jump; they treat each `text` as different code.
#define BARRIER(text) asm volatile("# " text::: "memory")

__attribute__((noinline)) uint64_t* other_way(unsigned way, unsigned depth);

__attribute__((noinline)) uint64_t* one_way(unsigned way, unsigned depth) {
    uint64_t* block = nullptr;
    if (depth == 0) {
        block = static_cast<uint64_t*>(aligned_alloc(kPage, kPage));
    } else if (way % 2 == 0) {
        BARRIER("first");
        block = other_way(way / 2, depth - 1);
        BARRIER("behind the first");
    } else {
        BARRIER("second");
        block = other_way(way / 2, depth - 1);
        BARRIER("behind the second");
    }
    return block;
}

__attribute__((noinline)) uint64_t* other_way(unsigned way, unsigned depth) {
    uint64_t* block = nullptr;
    if (depth == 0) {
        block = static_cast<uint64_t*>(aligned_alloc(kPage, kPage));
    } else if (way % 2 == 0) {
        BARRIER("third");
        block = one_way(way / 2, depth - 1);
        BARRIER("behind the third");
    } else {
        BARRIER("fourth");
        block = one_way(way / 2, depth - 1);
        BARRIER("behind the fourth");
    }
    return block;
}

void go_all_ways(unsigned depth) {
    for (unsigned way = 0; way < 1u << depth; ++way) {
        uint64_t* left = one_way(way, depth);
        *const_cast<volatile uint64_t*>(left) = way;
        uint64_t* right = one_way(way, depth);
        *const_cast<volatile uint64_t*>(right) = way;
        *const_cast<volatile uint64_t*>(right) = way;
    }
}

extern "C" void* allocate_in_assembly(size_t bytes);
asm(R"(
    .text
    .globl allocate_in_assembly
    .type allocate_in_assembly, @function
allocate_in_assembly:
    push %rbp
    mov %rsp, %rbp
    sub $64, %rsp
    call malloc@PLT
    leave
    ret
    .size allocate_in_assembly, . - allocate_in_assembly
)");

void allocate_twice() {
    auto* first = static_cast<volatile uint64_t*>(allocate_in_assembly(kWords * sizeof(uint64_t)));
    auto* second = static_cast<volatile uint64_t*>(allocate_in_assembly(kWords * sizeof(uint64_t)));
    for (size_t i = 0; i < kWords; ++i) {
        first[i] = i;
        second[i] = first[i];
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && strcmp(argv[1], "vectors") == 0) {
        fill_all(std::make_integer_sequence<int, kVectors>{});
    } else if (argc > 2 && strcmp(argv[1], "ways") == 0) {
        go_all_ways(static_cast<unsigned>(atoi(argv[2])));
    } else if (argc > 1 && strcmp(argv[1], "assembly") == 0) {
        allocate_twice();
    } else {
        return 2;
    }
    return 0;
}
