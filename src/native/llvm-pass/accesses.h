// SPDX-License-Identifier: Apache-2.0
//
// Determines which memory accesses of a function are counted. Also determines how often each one is
// executed in a run of the loops around it, if that is known before the loops begin.
#pragma once

#include <cstdint>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

namespace numascape::pass {

// Bytes per counted access of a memory function (memcpy, memset).
inline constexpr uint64_t kBytesPerAccess = 8;
// Shorter copies of known length are counted inline.
inline constexpr uint64_t kMaxInlineBytes = 128;

struct Access {
    llvm::Instruction* instruction;
    llvm::Value* pointer;
    uint16_t reads;  // per execution; with `length`: per kBytesPerAccess bytes
    uint16_t writes;
    llvm::Value* length;  // bytes, or null
};

// All counted accesses, in the order of the code. Accesses to other address spaces are not counted,
// nor to variables on the stack whose address no other function can know.
llvm::SmallVector<Access> find_accesses(llvm::Function& function);

// Whether the instruction marks a phase (include/numascape/phase.h).
bool is_phase_mark(const llvm::Instruction& instruction);
// Whether the instruction names a part of memory (include/numascape/region.h).
bool is_region_mark(const llvm::Instruction& instruction);
bool is_mark(const llvm::Instruction& instruction);
// Whether a call may have unknown effects: count accesses, change the phase, or not return.
bool is_unknown_call(const llvm::Instruction& instruction);

struct Dimension {
    const llvm::SCEV* step;   // bytes
    const llvm::SCEV* count;  // 64 bits
};

// The addresses start + sum(i_k * step_k) for 0 <= i_k < count_k, all of them accessed between
// `before` and the loops' end.
struct Nest {
    const llvm::SCEV* start;
    llvm::SmallVector<Dimension, 4> dimensions;
    llvm::Instruction* before;
    // If one of these conditions is false, no address is accessed.
    struct Condition {
        llvm::CmpInst::Predicate predicate;
        const llvm::SCEV* left;
        const llvm::SCEV* right;
    };
    llvm::SmallVector<Condition, 2> conditions;
};
inline constexpr unsigned kMaxDimensions = 4;

// How often a block executes in a run of the loop around it, and the addresses of the structures
// that it accesses; `before` is null if this is unknown.
struct Executions {
    const llvm::SCEV* count = nullptr;
    llvm::SmallVector<const llvm::SCEV*> structures;
    llvm::Instruction* before = nullptr;
};

class LoopCounts {
  public:
    LoopCounts(llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution, llvm::DominatorTree& tree,
               llvm::SCEVExpander& expander)
        : loops_(loops), evolution_(evolution), tree_(tree), expander_(expander) {}

    // False if the access must be counted at its place.
    bool describe(const Access& access, Nest& nest);
    Executions executions_of(llvm::ArrayRef<Access> accesses);
    // The outermost loop around `block` that contains no unknown call; null if there is none.
    llvm::Loop* outermost_without_calls(const llvm::BasicBlock* block);

  private:
    struct Facts {
        bool may_leave;  // it may be left in another way than by its exits
        bool calls;
    };
    const Facts& facts(const llvm::Loop* loop);
    const llvm::SCEV* executions(const llvm::Loop* loop, const llvm::BasicBlock* block);
    bool add_loop(const llvm::Loop* loop, const llvm::BasicBlock* block, Nest& nest);
    const llvm::BasicBlock* outside_conditions(const llvm::Loop* loop,
                                               const llvm::BasicBlock* block, Nest& nest);
    bool expandable(const Nest& nest, const llvm::Instruction* at) const;

    llvm::LoopInfo& loops_;
    llvm::ScalarEvolution& evolution_;
    llvm::DominatorTree& tree_;
    llvm::SCEVExpander& expander_;
    llvm::DenseMap<const llvm::Loop*, Facts> facts_;
};

}  // namespace numascape::pass
