// SPDX-License-Identifier: Apache-2.0
//
// Accesses at constant distances from each other that execute equally often are counted together.
// Each keeps its source line, because one number of executions applies to all.
#pragma once

#include <cstdint>
#include <utility>

#include "accesses.h"

namespace numascape::pass {

// Accesses that execute together, `distance` bytes from each to the next; 0 for a single one.
struct Announced {
    llvm::SmallVector<Access> accesses;
    Nest nest;  // of the access with the lowest address, which is the first
    uint64_t distance = 0;
};
// Combines accesses if counting them together is cheaper.
llvm::SmallVector<Announced> join_nests(llvm::ArrayRef<std::pair<Access, Nest>> nests,
                                        llvm::ScalarEvolution& evolution);

// Accesses of one block, all reads or all writes, whose addresses differ by constants.
struct Neighbours {
    size_t begin = 0;                     // in the list of accesses
    llvm::SmallVector<uint64_t> offsets;  // bytes from the lowest, ascending; one for each access
    // The first access in the program, its pointer, and its distance from the lowest address.
    llvm::Instruction* first = nullptr;
    llvm::Value* pointer = nullptr;
    uint64_t offset = 0;
};
// The largest distance between neighbours. With a larger one, a page boundary is more often between
// them.
inline constexpr uint64_t kWidestNeighbours = 1024;
inline constexpr size_t kFewestNeighbours = 3;
inline constexpr size_t kMaxNeighbours = 32;
// Sorts the accesses such that neighbours are next to each other, before all others.
llvm::SmallVector<Neighbours> find_neighbours(llvm::SmallVectorImpl<Access>& accesses,
                                              llvm::ScalarEvolution& evolution);

}  // namespace numascape::pass
