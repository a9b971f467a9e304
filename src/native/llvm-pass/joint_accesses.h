// SPDX-License-Identifier: Apache-2.0
//
// Accesses that execute equally often at constant distances from each other, to be counted
// together: each keeps its line, since one number of executions is all of theirs.
#pragma once

#include <cstdint>
#include <utility>

#include "accesses.h"

namespace numascape::pass {

// Accesses of the same executions, `distance` bytes from each to the next; of a single one 0.
struct Announced {
    llvm::SmallVector<Access> accesses;
    Nest nest;  // of the lowest, the first
    uint64_t distance = 0;
};
// Puts those together that are cheaper to count so.
llvm::SmallVector<Announced> join_nests(llvm::ArrayRef<std::pair<Access, Nest>> nests,
                                        llvm::ScalarEvolution& evolution);

// Accesses of one block, all reads or all writes, whose addresses differ by constants.
struct Neighbours {
    size_t begin = 0;                     // in the list of accesses
    llvm::SmallVector<uint64_t> offsets;  // bytes from the lowest, ascending; one for each access
    llvm::Instruction* first = nullptr;   // of the program; its access's pointer and offset
    llvm::Value* pointer = nullptr;
    uint64_t offset = 0;
};
// So far apart they may be: the wider, the more often a page ends between them.
inline constexpr uint64_t kWidestNeighbours = 1024;
inline constexpr size_t kFewestNeighbours = 3;
inline constexpr size_t kMostNeighbours = 32;
// Sorts the accesses such that neighbours are next to each other, before all others.
llvm::SmallVector<Neighbours> find_neighbours(llvm::SmallVectorImpl<Access>& accesses,
                                              llvm::ScalarEvolution& evolution);

}  // namespace numascape::pass
