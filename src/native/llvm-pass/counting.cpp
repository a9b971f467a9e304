// SPDX-License-Identifier: Apache-2.0
#include "counting.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace numascape::pass {
namespace {

using namespace llvm;

constexpr uint32_t kSeldom = 1;
constexpr uint32_t kOften = 1 << 20;

// As in a shard: slot = table + ((address & (2^40 - 1)) >> 12) * 16 + 8 for writes. In 32 bits,
// shift and mask do all of it.
constexpr unsigned kAddressShift = 8;
constexpr int32_t kSlotMask = -16;
constexpr uint64_t kWritesOffset = 8;

// The displacement of the instruction that marks a phase; NUMASCAPE_PHASE_MARK.
constexpr char kMarkText[] = "0x4e554d41";

constexpr unsigned kOutlinedArgument = 2;  // of __kmpc_fork_call and its like

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

// The table at the function's begin, where the thread's first access is found out.
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

Value* FunctionCounter::nest_counts(const Nest& nest, SCEVExpander& expander, IRBuilder<>& at) {
    auto* type = ArrayType::get(bits64_, 1 + 2 * kMostDimensions);
    if (nest_room_ == nullptr) {
        BasicBlock& first = function_.getEntryBlock();
        IRBuilder<> entry(&*first.getFirstInsertionPt());
        nest_room_ = entry.CreateAlloca(type, nullptr, "numascape.nest");
    }
    SmallVector<Value*> words = {at.getInt64(nest.dimensions.size())};
    for (const Dimension& dimension : nest.dimensions) {
        for (const SCEV* value : {dimension.step, dimension.count}) {
            Value* expanded = expander.expandCodeFor(value, value->getType(), nest.before);
            at.SetInsertPoint(nest.before);
            words.push_back(at.CreateSExtOrTrunc(expanded, bits64_));
        }
    }
    const bool constant = llvm::all_of(words, [](Value* word) { return isa<ConstantInt>(word); });
    if (constant) {
        SmallVector<Constant*> values;
        for (Value* word : words) {
            values.push_back(cast<Constant>(word));
        }
        values.resize(1 + 2 * kMostDimensions, at.getInt64(0));
        auto* counts = new GlobalVariable(module_, type, true, GlobalValue::PrivateLinkage,
                                          ConstantArray::get(type, values), "numascape.nest");
        counts->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
        return counts;
    }
    for (size_t i = 0; i < words.size(); ++i) {
        at.CreateStore(words[i], at.CreateConstInBoundsGEP2_64(type, nest_room_, 0, i));
    }
    return nest_room_;
}

void FunctionCounter::announce(const Access& access, const Nest& nest, SCEVExpander& expander) {
    IRBuilder<> at(nest.before);
    locate(at, access.instruction);
    Value* start = expander.expandCodeFor(nest.start, nest.start->getType(), nest.before);
    Value* counts = nest_counts(nest, expander, at);
    at.SetInsertPoint(nest.before);
    if (start->getType()->isPointerTy()) {
        start = at.CreatePtrToInt(start, bits64_);
    }
    call(at, kRangeSymbol, at.getVoidTy(), {counts, start, sites_.range(access)});
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

Instruction* FunctionCounter::subtract(IRBuilder<>& at, Value* counter, uint64_t times) {
    Value* before = at.CreateLoad(bits64_, counter);
    Value* both =
        at.CreateBinaryIntrinsic(Intrinsic::usub_with_overflow, before, at.getInt64(times));
    at.CreateStore(at.CreateExtractValue(both, 0), counter);
    return SplitBlockAndInsertIfThen(at.CreateExtractValue(both, 1), at.GetInsertPoint(), false,
                                     unlikely(function_.getContext()));
}

// Counts an execution of the segment; returns the table to count its accesses in.
Value* FunctionCounter::begin_block(const Segment& segment, GlobalVariable* site, Value* table) {
    Instruction* first = segment.accesses.front().instruction;
    IRBuilder<> at(first);
    locate(at, first);
    Value* offset = at.CreateLoad(bits64_, hidden(kOffsetSymbol, bits64_, false));
    Value* place = at.CreateAdd(at.CreatePtrToInt(site, bits64_), offset);
    Value* counter = at.CreatePtrAdd(table, place);
    Instruction* in_new = subtract(at, counter, 1);
    IRBuilder<> slow(in_new);
    locate(slow, first);
    Value* other = call(slow, kBlockSymbol, pointer_, {table, site});
    BasicBlock* join = first->getParent();
    IRBuilder<> joined(join, join->begin());
    PHINode* chosen = joined.CreatePHI(pointer_, 2, "numascape.table");
    for (BasicBlock* from : predecessors(join)) {
        chosen->addIncoming(from == in_new->getParent() ? other : table, from);
    }
    return chosen;
}

void FunctionCounter::count_kind(const Access& access, Value* table, Value* offset, bool write,
                                 uint64_t times, uint64_t place) {
    IRBuilder<> at(access.instruction);
    locate(at, access.instruction);
    Value* slot = at.CreatePtrAdd(table, offset);
    if (write) {
        slot = at.CreatePtrAdd(slot, at.getInt64(kWritesOffset));
    }
    IRBuilder<> slow(subtract(at, slot, times));
    locate(slow, access.instruction);
    call(slow, kTouchSymbol, slow.getVoidTy(), {table, offset, slow.getInt64(place)});
}

void FunctionCounter::count_access(const Access& access, Value* table, uint64_t place) {
    IRBuilder<> at(access.instruction);
    locate(at, access.instruction);
    Value* address = at.CreatePtrToInt(access.pointer, bits64_);
    Value* shifted = at.CreateTrunc(at.CreateLShr(address, kAddressShift), at.getInt32Ty());
    Value* offset =
        at.CreateZExt(at.CreateAnd(shifted, at.getInt32(static_cast<uint32_t>(kSlotMask))), bits64_,
                      "numascape.slot");
    if (access.reads != 0) {
        count_kind(access, table, offset, false, access.reads, place);
    }
    if (access.writes != 0) {
        count_kind(access, table, offset, true, access.writes, place);
    }
}

void FunctionCounter::count(const Segment& segment) {
    Value* table = enter();
    Instruction* first = segment.accesses.front().instruction;
    if (calls_) {
        const auto known = loop_tables_.find(segment.table_outside);
        IRBuilder<> at(first);
        locate(at, first);
        table = known != loop_tables_.end() ? known->second : load_table(at);
    }
    table = begin_block(segment, sites_.block(segment.accesses), table);
    for (uint64_t place = 0; place < segment.accesses.size(); ++place) {
        count_access(segment.accesses[place], table, place);
    }
}

void FunctionCounter::announce_marks() {
    SmallVector<CallInst*> marks;
    for (BasicBlock& block : function_) {
        for (Instruction& each : block) {
            auto* made = dyn_cast<CallInst>(&each);
            const auto* text =
                made != nullptr ? dyn_cast<InlineAsm>(made->getCalledOperand()) : nullptr;
            if (text != nullptr && made->arg_size() == 1 &&
                StringRef(text->getAsmString()).contains(kMarkText) &&
                made->getArgOperand(0)->getType()->isPointerTy()) {
                marks.push_back(made);
            }
        }
    }
    for (CallInst* mark : marks) {
        IRBuilder<> at(mark);
        locate(at, mark);
        call(at, kMarkSymbol, at.getVoidTy(), {mark->getArgOperand(0)});
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
