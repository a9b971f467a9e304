// SPDX-License-Identifier: Apache-2.0
#include "counting.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "pages.h"

namespace numascape::pass {
namespace {

using namespace llvm;

constexpr uint32_t kSeldom = 1;
constexpr uint32_t kOften = 1 << 20;

// As in a shard: counter = table + ((address & (2^40 - 1)) >> 12) * 16, + 8 for writes. In 32 bits,
// one shift and one mask compute the offset.
constexpr unsigned kAddressShift = 8;
constexpr int32_t kSlotMask = -16;
constexpr uint64_t kWritesOffset = 8;

constexpr unsigned kOutlinedArgument = 2;  // of __kmpc_fork_call and its like

// Of `number` accesses in a block, the first at `place`.
Value* places(IRBuilder<>& at, Value* place, Value* number) {
    return at.CreateAdd(place,
                        at.CreateShl(at.CreateSub(number, at.getInt64(1)), uint64_t{kPlacesShift}));
}

bool is_zero(const Value* value) {
    const auto* constant = dyn_cast<ConstantInt>(value);
    return constant != nullptr && constant->isZero();
}

MDNode* unlikely(LLVMContext& context) {
    return MDBuilder(context).createBranchWeights(kSeldom, kOften);
}

}  // namespace

FunctionCounter::FunctionCounter(Function& function, SiteWriter& sites)
    : function_(function),
      module_(*function.getParent()),
      sites_(sites),
      bits64_(Type::getInt64Ty(function.getContext())),
      pointer_(PointerType::getUnqual(function.getContext())) {
    for (const BasicBlock& block : function) {
        for (const Instruction& each : block) {
            calls_ = calls_ || is_unknown_call(each);
        }
    }
}

GlobalVariable* FunctionCounter::hidden(StringRef name, Type* type, bool thread_local_word) {
    GlobalVariable* variable = module_.getNamedGlobal(name);
    if (variable == nullptr) {
        variable = new GlobalVariable(
            module_, type, false, GlobalValue::ExternalLinkage, nullptr, name, nullptr,
            thread_local_word ? GlobalValue::InitialExecTLSModel : GlobalValue::NotThreadLocal);
        variable->setVisibility(GlobalValue::HiddenVisibility);
        variable->setDSOLocal(true);
    }
    return variable;
}

CallInst* FunctionCounter::call(IRBuilder<>& at, StringRef name, Type* result,
                                ArrayRef<Value*> arguments) {
    SmallVector<Type*> types;
    for (const Value* argument : arguments) {
        types.push_back(argument->getType());
    }
    FunctionCallee callee =
        module_.getOrInsertFunction(name, FunctionType::get(result, types, false));
    if (auto* declared = dyn_cast<Function>(callee.getCallee())) {
        declared->setCallingConv(CallingConv::PreserveAll);
        declared->setVisibility(GlobalValue::HiddenVisibility);
        declared->setDSOLocal(true);
        declared->setDoesNotThrow();
    }
    CallInst* made = at.CreateCall(callee, arguments);
    made->setCallingConv(CallingConv::PreserveAll);
    made->setDoesNotThrow();
    return made;
}

// A call in a function with debug information must have a location.
void FunctionCounter::locate(IRBuilder<>& at, const Instruction* like) const {
    DebugLoc location = like != nullptr ? like->getDebugLoc() : DebugLoc();
    if (!location && function_.getSubprogram() != nullptr) {
        location = DILocation::get(function_.getContext(), 0, 0, function_.getSubprogram());
    }
    at.SetCurrentDebugLocation(location);
}

Value* FunctionCounter::load_table(IRBuilder<>& at) {
    GlobalVariable* word = hidden(kThreadSymbol, pointer_, true);
    return at.CreateLoad(pointer_, at.CreateThreadLocalAddress(word), "numascape.table");
}

// The table at the begin of the function; this also detects the thread's first access.
Value* FunctionCounter::enter() {
    if (entry_table_ != nullptr) {
        return entry_table_;
    }
    BasicBlock& first = function_.getEntryBlock();
    IRBuilder<> at(&*first.getFirstNonPHIOrDbgOrAlloca());
    locate(at, nullptr);
    Value* loaded = load_table(at);
    Instruction* next = &*at.GetInsertPoint();
    Instruction* in_new = SplitBlockAndInsertIfThen(at.CreateIsNull(loaded), next, false,
                                                    unlikely(function_.getContext()));
    IRBuilder<> slow(in_new);
    locate(slow, nullptr);
    Value* entered = call(slow, kEnterSymbol, pointer_, {});
    IRBuilder<> join(next->getParent(), next->getParent()->begin());
    PHINode* table = join.CreatePHI(pointer_, 2, "numascape.table");
    table->addIncoming(loaded, &first);
    table->addIncoming(entered, in_new->getParent());
    entry_table_ = table;
    return table;
}

// The words of a NestCounts in memory.
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
    SmallVector<Value*> words = {at.getInt64(nest.dimensions.size())};  // and one, if joined
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

// With an additional last dimension for joined accesses.
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
    Value* offset = slot_offset(at, row.start);
    Instruction* here = row.before;
    if (joint > 1 || !is_zero(row.step)) {
        Value* last = at.CreateSub(row.count, at.getInt64(1));
        Value* to = at.CreateAdd(row.start, at.CreateMul(row.step, last));
        Value* extent = at.getInt64(row.distance * (joint - 1));
        const auto* step = dyn_cast<ConstantInt>(row.step);
        const bool downwards = joint > 1 && step != nullptr && step->isNegative();
        Value* lowest = downwards ? to : row.start;
        Value* highest = at.CreateAdd(downwards ? row.start : to, extent);
        Value* same = at.CreateICmpEQ(slot_offset(at, lowest), slot_offset(at, highest));
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
    count_slot(here, like,
               {table, offset, places(inside, inside.getInt64(0), inside.getInt64(joint))}, number);
}

void FunctionCounter::prepare(ArrayRef<Segment> segments) {
    for (const Segment& segment : segments) {
        Loop* loop = segment.table_outside;
        if (loop != nullptr && calls_ && !loop_tables_.contains(loop)) {
            IRBuilder<> at(loop->getLoopPreheader()->getTerminator());
            loop_tables_[loop] = load_table(at);
        }
    }
}

Value* FunctionCounter::table_before(Instruction* before, const Loop* outside) {
    Value* table = enter();
    if (calls_) {
        const auto known = loop_tables_.find(outside);
        IRBuilder<> at(before);
        locate(at, before);
        table = known != loop_tables_.end() ? known->second : load_table(at);
    }
    return table;
}

// Inline assembly, for three reasons: the optimiser does not split the basic block at each access,
// it does not treat a counter as memory of the program, and the code generator has little to do.
// The slow path is placed behind the code of the function. Its arguments and results are on the
// stack, below the saved registers, so the function must not use the red zone.
CallInst* FunctionCounter::assembly(IRBuilder<>& at, const Twine& text, const Twine& operands,
                                    Type* result, ArrayRef<Value*> arguments) {
    SmallVector<Type*> types;
    for (const Value* argument : arguments) {
        types.push_back(argument->getType());
    }
    const std::string constraints = (operands + ",~{dirflag},~{fpsr},~{flags}").str();
    InlineAsm* code = InlineAsm::get(FunctionType::get(result, types, false), text.str(),
                                     constraints, true, false);
    function_.addFnAttr(Attribute::NoRedZone);
    CallInst* made = at.CreateCall(code, arguments);
    made->setDoesNotThrow();
    made->addFnAttr(Attribute::WillReturn);
    made->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
    return made;
}

Value* FunctionCounter::count_executions(Instruction* before, const Instruction* like,
                                         GlobalVariable* site, Value* table, Value* times) {
    IRBuilder<> at(before);
    locate(at, like);
    return assembly(at,
                    "subq $3, ($0,$2)\n\tjb 3f\n4:\n\t.subsection 1\n"
                    "3:\n\tpushq $0\n\tpushq $2\n\tcall " +
                        Twine(kBlockPushedSymbol) +
                        "\n\tleaq 8(%rsp), %rsp\n\tpopq $0\n\tjmp 4b\n\t.subsection 0",
                    "=r,0,r,er", pointer_, {table, place_of(at, site), times});
}

Value* FunctionCounter::place_of(IRBuilder<>& at, GlobalVariable* site) {
    Value* offset = at.CreateLoad(bits64_, hidden(kOffsetSymbol, bits64_, false));
    return at.CreateAdd(at.CreatePtrToInt(site, bits64_), offset);
}

// Their pages are counted where they are accessed. Their owner is recorded when the counter reaches
// zero.
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

void FunctionCounter::count_slot(Instruction* before, const Access& access, const PageCounter& slot,
                                 Value* times) {
    for (const bool write : {false, true}) {
        const uint64_t each = write ? access.writes : access.reads;
        if (each == 0) {
            continue;
        }
        IRBuilder<> at(before);
        locate(at, access.instruction);
        Value* number = each == 1 ? times : at.CreateMul(times, at.getInt64(each));
        const uint64_t within = write ? kWritesOffset : 0;
        assembly(at,
                 "subq $2, " + Twine(within) +
                     "($0,$1)\n\tjb 3f\n4:\n\t.subsection 1\n"
                     "3:\n\tpushq $1\n\tpushq $0\n\tpushq $3\n\tleaq 4b(%rip), $0\n\tpushq $0\n\t"
                     "call " +
                     Twine(kTouchPushedSymbol) +
                     "\n\tleaq 16(%rsp), %rsp\n\tpopq $0\n\tpopq $1\n\tjmp 4b\n\t.subsection 0",
                 "r,r,er,ri", at.getVoidTy(), {slot.table, slot.offset, number, slot.place});
    }
}

Value* FunctionCounter::slot_offset(IRBuilder<>& at, Value* address) {
    Value* shifted = at.CreateTrunc(at.CreateLShr(address, kAddressShift), at.getInt32Ty());
    return at.CreateZExt(at.CreateAnd(shifted, at.getInt32(static_cast<uint32_t>(kSlotMask))),
                         bits64_, "numascape.slot");
}

void FunctionCounter::count_access(const Access& access, Value* table, uint64_t place) {
    IRBuilder<> at(access.instruction);
    locate(at, access.instruction);
    Value* offset = slot_offset(at, at.CreatePtrToInt(access.pointer, bits64_));
    count_slot(access.instruction, access, {table, offset, at.getInt64(place)}, at.getInt64(1));
}

// Usually all accesses are on one page. Otherwise those before its end count there, and the others
// on the next page.
void FunctionCounter::count_neighbours(const Neighbours& neighbours, const Access& like,
                                       Value* table) {
    Instruction* first = neighbours.first;
    const uint64_t count = neighbours.offsets.size();
    IRBuilder<> at(first);
    locate(at, first);
    Value* begin = at.getInt64(neighbours.begin);
    Value* low = at.CreateSub(at.CreatePtrToInt(neighbours.pointer, bits64_),
                              at.getInt64(neighbours.offset));
    Value* room = at.CreateSub(at.getInt64(kPageBytes), at.CreateAnd(low, kPageBytes - 1));
    Value* fits = at.CreateICmpUGT(room, at.getInt64(neighbours.offsets.back()));
    Value* offset = slot_offset(at, low);
    Instruction* here = nullptr;
    Instruction* apart = nullptr;
    SplitBlockAndInsertIfThenElse(
        fits, first, &here, &apart,
        MDBuilder(function_.getContext()).createBranchWeights(kOften, kSeldom));
    at.SetInsertPoint(here);
    count_slot(here, like, {table, offset, places(at, begin, at.getInt64(count))},
               at.getInt64(count));
    at.SetInsertPoint(apart);
    locate(at, first);
    Value* below = at.getInt64(0);
    for (const uint64_t each : neighbours.offsets) {
        below =
            at.CreateAdd(below, at.CreateZExt(at.CreateICmpUGT(room, at.getInt64(each)), bits64_));
    }
    Value* above = at.CreateSub(at.getInt64(count), below);
    Value* next = slot_offset(at, at.CreateAdd(low, room));
    Value* lower = places(at, begin, below);
    Value* upper = places(at, at.CreateAdd(begin, below), above);
    count_slot(apart, like, {table, offset, lower}, below);
    count_slot(apart, like, {table, next, upper}, above);
}

void FunctionCounter::count(const Segment& segment) {
    Instruction* first = segment.first;
    Value* table = table_before(first, segment.table_outside);
    if (segment.executions.before == nullptr) {
        IRBuilder<> at(first);
        table =
            count_executions(first, first, sites_.block(segment.accesses), table, at.getInt64(1));
    }
    uint64_t place = 0;
    for (const Neighbours& neighbours : segment.neighbours) {
        count_neighbours(neighbours, segment.accesses[place], table);
        place += neighbours.offsets.size();
    }
    for (; place < segment.accesses.size(); ++place) {
        count_access(segment.accesses[place], table, place);
    }
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

// LLVM's OpenMP: the call returns when the region ends.
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
