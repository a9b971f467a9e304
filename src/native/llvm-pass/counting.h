// SPDX-License-Identifier: Apache-2.0
//
// Inserts the counting code into one function.
#pragma once

#include "counting_assembly.h"
#include "joint_accesses.h"
#include "llvm/IR/IRBuilder.h"
#include "sites.h"

namespace numascape::pass {

// Accesses of one basic block without an unknown call between them: they execute together. They are
// in the order of the program until neighbours are found.
struct Segment {
    llvm::SmallVector<Access> accesses;
    llvm::Instruction* first;
    llvm::Loop* table_outside = nullptr;  // the table is loaded before this loop, not in the block
    llvm::SmallVector<Neighbours> neighbours;
    Executions executions;  // known before the loop: not counted in the block
};

// The places of `number` accesses in a block, the first at `place`, in the format of kPlacesShift.
llvm::Value* places(llvm::IRBuilder<>& at, llvm::Value* place, llvm::Value* number);
// Metadata for a branch that is rarely taken.
llvm::MDNode* unlikely(llvm::LLVMContext& context);

class FunctionCounter {
  public:
    FunctionCounter(llvm::Function& function, SiteWriter& sites);

    // Inserts code before the loops that counts all accesses of the nest at once. Splits blocks
    // before `nest.before`, once `finish_announcements` is called.
    void announce(const Announced& announced, llvm::SCEVExpander& expander);
    void announce(const Segment& segment, llvm::SCEVExpander& expander);
    void finish_announcements();
    // Inserts loads of the table before loops. The loops must not have changed yet.
    void prepare(llvm::ArrayRef<Segment> segments);
    // Inserts inline counters. It splits blocks, so earlier analyses are invalid afterwards.
    void count(const Segment& segment);
    // Inserts calls for the marks of phases and of memory regions (phase.h and region.h in
    // include/numascape), and for parallel regions.
    void announce_marks();
    void announce_regions();

  private:
    // Accesses that are announced together: all addresses of a row, or some addresses of one
    // structure.
    struct Announcement {
        llvm::Instruction* before;
        llvm::SmallVector<Access> accesses;
        llvm::Value* start;
        llvm::Value* step;  // null: `start` is only the structure's address
        llvm::Value* count;
        uint64_t distance;  // as in Announced
    };
    llvm::Value* load_table(llvm::IRBuilder<>& at);
    llvm::Value* enter();
    llvm::Value* table_before(llvm::Instruction* before, const llvm::Loop* outside);
    void count_row(const Announcement& row);
    void count_structure(const Announcement& announced);
    // Counts executions of the block that `site` describes; returns the table to count its accesses
    // in.
    llvm::Value* count_executions(llvm::Instruction* before, const llvm::Instruction* like,
                                  llvm::GlobalVariable* site, llvm::Value* table,
                                  llvm::Value* times);
    // The place of the counter of the block that `site` describes: counter = table + place.
    llvm::Value* place_of(llvm::IRBuilder<>& at, llvm::GlobalVariable* site);
    void count_access(const Access& access, llvm::Value* table, uint64_t place);
    void count_neighbours(const Neighbours& neighbours, const Access& like, llvm::Value* table);
    // A page counter, and the place in the block of the access that it counts. kPlacesShift
    // describes the place of several accesses.
    struct PageCounter {
        llvm::Value* table;
        llvm::Value* offset;
        llvm::Value* place;
    };
    void count_page(llvm::Instruction* before, const Access& access, const PageCounter& counter,
                    llvm::Value* times);
    llvm::Value* counter_offset(llvm::IRBuilder<>& at, llvm::Value* address);
    llvm::CallInst* assembly(llvm::IRBuilder<>& at, const Assembly& assembly, llvm::Type* result,
                             llvm::ArrayRef<llvm::Value*> arguments);
    llvm::SmallVector<llvm::Value*> joined(llvm::SmallVector<llvm::Value*> words, size_t accesses,
                                           uint64_t distance) const;
    llvm::Value* nest_counts(llvm::ArrayRef<llvm::Value*> words, llvm::IRBuilder<>& at);
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
    llvm::SmallVector<Announcement> announcements_;
    bool calls_ = false;  // the function calls something unknown
};

}  // namespace numascape::pass
