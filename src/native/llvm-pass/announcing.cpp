// SPDX-License-Identifier: Apache-2.0
//
// Inserts calls that announce to the runtime what comes: rows and nests of accesses, executions of
// the body of a loop, the program's marks, and parallel regions.
#include "counting.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace numascape::pass {
namespace {

using namespace llvm;

constexpr unsigned kOutlinedArgument = 2;  // of __kmpc_fork_call and similar functions

bool is_zero(const Value* value) {
    const auto* constant = dyn_cast<ConstantInt>(value);
    return constant != nullptr && constant->isZero();
}

}  // namespace

// Puts the words of a NestCounts into memory, and returns their address.
Value* FunctionCounter::nest_counts(ArrayRef<Value*> words, IRBuilder<>& at) {
    auto* type = ArrayType::get(bits64_, 1 + 2 * kMaxDimensions);
    if (llvm::all_of(words, [](Value* word) { return isa<ConstantInt>(word); })) {
        SmallVector<Constant*> values;
        for (Value* word : words) {
            values.push_back(cast<Constant>(word));
        }
        values.resize(1 + 2 * kMaxDimensions, at.getInt64(0));
        auto* counts = new GlobalVariable(module_, type, true, GlobalValue::PrivateLinkage,
                                          ConstantArray::get(type, values), "numascape.nest");
        counts->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
        return counts;
    }
    if (nest_room_ == nullptr) {
        BasicBlock& first = function_.getEntryBlock();
        IRBuilder<> entry(&*first.getFirstInsertionPt());
        nest_room_ = entry.CreateAlloca(type, nullptr, "numascape.nest");
    }
    for (size_t i = 0; i < words.size(); ++i) {
        at.CreateStore(words[i], at.CreateConstInBoundsGEP2_64(type, nest_room_, 0, i));
    }
    return nest_room_;
}

void FunctionCounter::announce(const Announced& announced, SCEVExpander& expander) {
    const Nest& nest = announced.nest;
    const Instruction* like = announced.accesses.front().instruction;
    IRBuilder<> at(nest.before);
    locate(at, like);
    const auto expand = [&](const SCEV* value) {
        Value* expanded = expander.expandCodeFor(value, value->getType(), nest.before);
        at.SetInsertPoint(nest.before);
        return expanded->getType()->isPointerTy() ? at.CreatePtrToInt(expanded, bits64_)
                                                  : at.CreateSExtOrTrunc(expanded, bits64_);
    };
    Value* start = expand(nest.start);
    SmallVector<Value*> words = {at.getInt64(nest.dimensions.size())};  // and one more if joined
    for (const Dimension& dimension : nest.dimensions) {
        words.push_back(expand(dimension.step));
        words.push_back(expand(dimension.count));
    }
    for (const Nest::Condition& condition : nest.conditions) {
        Value* left =
            expander.expandCodeFor(condition.left, condition.left->getType(), nest.before);
        Value* right =
            expander.expandCodeFor(condition.right, condition.right->getType(), nest.before);
        at.SetInsertPoint(nest.before);
        Value* holds = at.CreateICmp(condition.predicate, left, right);
        words[2] = at.CreateSelect(holds, words[2], at.getInt64(0));
    }
    if (nest.dimensions.size() == 1) {
        announcements_.push_back(
            {nest.before, announced.accesses, start, words[1], words[2], announced.distance});
        return;
    }
    locate(at, like);
    Value* counts = nest_counts(joined(words, announced.accesses.size(), announced.distance), at);
    call(at, kRangeSymbol, at.getVoidTy(), {counts, start, sites_.block(announced.accesses)});
}

// Adds a last dimension for joined accesses.
SmallVector<Value*> FunctionCounter::joined(SmallVector<Value*> words, size_t accesses,
                                            uint64_t distance) const {
    if (accesses > 1) {
        const auto dimensions = cast<ConstantInt>(words[0])->getZExtValue();
        words[0] = ConstantInt::get(bits64_, dimensions + 1);
        words.push_back(ConstantInt::get(bits64_, distance));
        words.push_back(ConstantInt::get(bits64_, accesses));
    }
    return words;
}

void FunctionCounter::announce(const Segment& segment, SCEVExpander& expander) {
    Instruction* before = segment.executions.before;
    IRBuilder<> at(before);
    Value* count = expander.expandCodeFor(segment.executions.count, bits64_, before);
    for (size_t i = 0; i < segment.accesses.size(); ++i) {
        const SCEV* structure = segment.executions.structures[i];
        Value* address = expander.expandCodeFor(structure, structure->getType(), before);
        at.SetInsertPoint(before);
        if (address->getType()->isPointerTy()) {
            address = at.CreatePtrToInt(address, bits64_);
        }
        announcements_.push_back({before, {segment.accesses[i]}, address, nullptr, count, 0});
    }
}

void FunctionCounter::finish_announcements() {
    for (const Announcement& each : announcements_) {
        if (each.step != nullptr) {
            count_row(each);
        } else {
            count_structure(each);
        }
    }
}

// If the row is on one page, it is counted here; otherwise by the runtime.
void FunctionCounter::count_row(const Announcement& row) {
    Value* table = table_before(row.before, nullptr);
    const Access& like = row.accesses.front();
    const uint64_t joint = row.accesses.size();
    IRBuilder<> at(row.before);
    locate(at, like.instruction);
    GlobalVariable* site = sites_.block(row.accesses);
    Value* offset = counter_offset(at, row.start);
    Instruction* here = row.before;
    if (joint > 1 || !is_zero(row.step)) {
        Value* last = at.CreateSub(row.count, at.getInt64(1));
        Value* to = at.CreateAdd(row.start, at.CreateMul(row.step, last));
        Value* extent = at.getInt64(row.distance * (joint - 1));
        const auto* step = dyn_cast<ConstantInt>(row.step);
        const bool downwards = joint > 1 && step != nullptr && step->isNegative();
        Value* lowest = downwards ? to : row.start;
        Value* highest = at.CreateAdd(downwards ? row.start : to, extent);
        Value* same = at.CreateICmpEQ(counter_offset(at, lowest), counter_offset(at, highest));
        Instruction* there = nullptr;
        SplitBlockAndInsertIfThenElse(same, row.before, &here, &there);
        IRBuilder<> outside(there);
        locate(outside, like.instruction);
        Value* counts = nest_counts(
            joined({outside.getInt64(1), row.step, row.count}, joint, row.distance), outside);
        call(outside, kRangeSymbol, outside.getVoidTy(), {counts, row.start, site});
    }
    table = count_executions(here, like.instruction, site, table, row.count);
    IRBuilder<> inside(here);
    locate(inside, like.instruction);
    Value* number = inside.CreateMul(row.count, inside.getInt64(joint));
    count_page(here, like,
               {table, offset, places(inside, inside.getInt64(0), inside.getInt64(joint))}, number);
}

// The pages of these accesses are counted at each access. The owner of the structure is recorded
// when the counter of the block reaches zero.
void FunctionCounter::count_structure(const Announcement& announced) {
    Instruction* before = announced.before;
    Value* table = table_before(before, nullptr);
    IRBuilder<> at(before);
    locate(at, announced.accesses.front().instruction);
    GlobalVariable* site = sites_.block(announced.accesses);
    Value* counter = at.CreatePtrAdd(table, place_of(at, site));
    Value* left = at.CreateLoad(bits64_, counter);
    Value* both = at.CreateBinaryIntrinsic(Intrinsic::usub_with_overflow, left, announced.count);
    at.CreateStore(at.CreateExtractValue(both, 0), counter);
    IRBuilder<> slow(SplitBlockAndInsertIfThen(at.CreateExtractValue(both, 1), before, false,
                                               unlikely(function_.getContext())));
    locate(slow, announced.accesses.front().instruction);
    call(slow, kNoteSymbol, slow.getVoidTy(), {table, site, announced.start});
}

void FunctionCounter::announce_marks() {
    SmallVector<CallInst*> marks;
    for (BasicBlock& block : function_) {
        for (Instruction& each : block) {
            if (is_mark(each)) {
                marks.push_back(cast<CallInst>(&each));
            }
        }
    }
    for (CallInst* mark : marks) {
        IRBuilder<> at(mark);
        locate(at, mark);
        SmallVector<Value*> arguments(mark->args());
        call(at, is_phase_mark(*mark) ? kMarkSymbol : kMemoryRegionSymbol, at.getVoidTy(),
             arguments);
    }
}

// In LLVM's OpenMP, the call returns when the region ends.
void FunctionCounter::announce_regions() {
    SmallVector<CallInst*> calls;
    for (BasicBlock& block : function_) {
        for (Instruction& each : block) {
            auto* made = dyn_cast<CallInst>(&each);
            const Function* called = made != nullptr ? made->getCalledFunction() : nullptr;
            if (called != nullptr && made->arg_size() > kOutlinedArgument &&
                (called->getName().starts_with("__kmpc_fork_call") ||
                 called->getName() == "__kmpc_fork_teams")) {
                calls.push_back(made);
            }
        }
    }
    for (CallInst* region : calls) {
        IRBuilder<> at(region);
        locate(at, region);
        call(at, kRegionSymbol, at.getVoidTy(), {region->getArgOperand(kOutlinedArgument)});
        at.SetInsertPoint(region->getNextNode());
        call(at, kRegionSymbol, at.getVoidTy(), {ConstantPointerNull::get(pointer_)});
    }
}

}  // namespace numascape::pass
