// SPDX-License-Identifier: Apache-2.0
//
// Inserts the counting code into one function.
#pragma once

#include "accesses.h"
#include "llvm/IR/IRBuilder.h"
#include "sites.h"

namespace numascape::pass {

// Accesses of one basic block, in order, without an unknown call between them: they execute
// together.
struct Segment {
    llvm::SmallVector<Access> accesses;
    llvm::Loop* table_outside = nullptr;  // the table is loaded before this loop, not in the block
};

class FunctionCounter {
  public:
    FunctionCounter(llvm::Function& function, SiteWriter& sites);

    // Before the loops: calls of the runtime with the whole nest.
    void announce(const Access& access, const Nest& nest, llvm::SCEVExpander& expander);
    // Loads of the table, for which loops must still be as they were.
    void prepare(llvm::ArrayRef<Segment> segments);
    // Inline counters. Splits blocks: nothing that was analysed before is right afterwards.
    void count(const Segment& segment);
    // The phase marks in the function (include/numascape/phase.h), and its parallel regions.
    void announce_marks();
    void announce_regions();

  private:
    llvm::Value* load_table(llvm::IRBuilder<>& at);
    llvm::Value* enter();
    llvm::Value* begin_block(const Segment& segment, llvm::GlobalVariable* site,
                             llvm::Value* table);
    void count_access(const Access& access, llvm::Value* table, uint64_t place);
    void count_kind(const Access& access, llvm::Value* table, llvm::Value* offset, bool write,
                    uint64_t times, uint64_t place);
    // Subtracts from a counter; returns a new block's end, reached when it was smaller than that.
    llvm::Instruction* subtract(llvm::IRBuilder<>& at, llvm::Value* counter, uint64_t times);
    llvm::Value* nest_counts(const Nest& nest, llvm::SCEVExpander& expander, llvm::IRBuilder<>& at);
    llvm::CallInst* call(llvm::IRBuilder<>& at, llvm::StringRef name, llvm::Type* result,
                         llvm::ArrayRef<llvm::Value*> arguments);
    void locate(llvm::IRBuilder<>& at, const llvm::Instruction* like) const;
    llvm::GlobalVariable* hidden(llvm::StringRef name, llvm::Type* type, bool thread_local_word);

    llvm::Function& function_;
    llvm::Module& module_;
    SiteWriter& sites_;
    llvm::Type* bits64_;
    llvm::PointerType* pointer_;
    llvm::DenseMap<const llvm::Loop*, llvm::Value*> loop_tables_;
    llvm::Value* entry_table_ = nullptr;
    llvm::Value* nest_room_ = nullptr;
    bool calls_ = false;  // the function calls something unknown
};

}  // namespace numascape::pass
