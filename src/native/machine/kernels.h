// SPDX-License-Identifier: Apache-2.0
//
// Loops over vectors of doubles that move memory as fast as the processor can, one set for each
// instruction set; the best that the processor has is chosen at run time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace numascape::machine {

// The vectors of a loop, each of the same number of doubles and aligned to 64 bytes.
struct Vectors {
    double* a;
    const double* b;
    const double* c;
    const double* d;
};

// Runs `rounds` times over `count` doubles of each vector, a multiple of kBlock. The result depends
// on the values, so that reads cannot be optimised away. The loop over rounds is inside, because a
// call takes as long as a round in the first-level cache.
using Kernel = double (*)(const Vectors& vectors, std::size_t count, std::size_t rounds);

inline constexpr std::size_t kBlock = 64;

// A loop, and the bytes that it moves per element from the view of a program: a store counts once,
// although the line is first read unless the store is non-temporal.
struct Operation {
    std::string_view name;
    unsigned vectors;            // how many of a, b, c, d
    unsigned bytes_per_element;  // 8 for each vector
    Kernel kernel;
};

// read: the sum of a; write: a = s; copy: a = b; stream: a = b + s c (STREAM's triad);
// triad: a = b + c d (the vector triad of Schönauer and of likwid-bench); -nt: with stores that
// bypass the caches.
struct InstructionSet {
    std::string_view name;
    std::vector<Operation> operations;
};

// arch/: the sets that this processor has, the widest first; never empty.
std::vector<InstructionSet> instruction_sets();

}  // namespace numascape::machine
