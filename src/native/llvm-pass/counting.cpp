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

// As in a shard: counter = table + ((address & (2^40 - 1)) >> 12) * 16, + 8 for writes. In 32 bits,
// one shift and one mask compute the offset.
constexpr unsigned kAddressShift = 8;
constexpr int32_t kCounterMask = -16;
constexpr uint64_t kWritesOffset = 8;

constexpr uint32_t kSeldom = 1;
constexpr uint32_t kOften = 1 << 20;

}  // namespace

Value* places(IRBuilder<>& at, Value* place, Value* number) {
    return at.CreateAdd(place,
                        at.CreateShl(at.CreateSub(number, at.getInt64(1)), uint64_t{kPlacesShift}));
}

MDNode* unlikely(LLVMContext& context) {
    return MDBuilder(context).createBranchWeights(kSeldom, kOften);
}

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

// Gets the table at the beginning of the function. This also detects the thread's first access.
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

// Inserts inline assembly, for three reasons: the optimiser does not split the basic block at each
// access, it does not treat a counter as memory of the program, and the code generator has little
// to do. The slow path is placed behind the code of the function. Its arguments and results are on
// the stack, below the saved registers, so the function must not use the red zone.
CallInst* FunctionCounter::assembly(IRBuilder<>& at, const Assembly& assembly, Type* result,
                                    ArrayRef<Value*> arguments) {
    SmallVector<Type*> types;
    for (const Value* argument : arguments) {
        types.push_back(argument->getType());
    }
    InlineAsm* code = InlineAsm::get(FunctionType::get(result, types, false), assembly.text,
                                     assembly.operands, true, false);
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
    return assembly(at, count_block_assembly(), pointer_, {table, place_of(at, site), times});
}

Value* FunctionCounter::place_of(IRBuilder<>& at, GlobalVariable* site) {
    Value* offset = at.CreateLoad(bits64_, hidden(kOffsetSymbol, bits64_, false));
    return at.CreateAdd(at.CreatePtrToInt(site, bits64_), offset);
}

void FunctionCounter::count_page(Instruction* before, const Access& access,
                                 const PageCounter& counter, Value* times) {
    for (const bool write : {false, true}) {
        const uint64_t each = write ? access.writes : access.reads;
        if (each == 0) {
            continue;
        }
        IRBuilder<> at(before);
        locate(at, access.instruction);
        Value* number = each == 1 ? times : at.CreateMul(times, at.getInt64(each));
        const uint64_t within = write ? kWritesOffset : 0;
        assembly(at, count_page_assembly(within), at.getVoidTy(),
                 {counter.table, counter.offset, number, counter.place});
    }
}

Value* FunctionCounter::counter_offset(IRBuilder<>& at, Value* address) {
    Value* shifted = at.CreateTrunc(at.CreateLShr(address, kAddressShift), at.getInt32Ty());
    return at.CreateZExt(at.CreateAnd(shifted, at.getInt32(static_cast<uint32_t>(kCounterMask))),
                         bits64_, "numascape.counter");
}

void FunctionCounter::count_access(const Access& access, Value* table, uint64_t place) {
    IRBuilder<> at(access.instruction);
    locate(at, access.instruction);
    Value* offset = counter_offset(at, at.CreatePtrToInt(access.pointer, bits64_));
    count_page(access.instruction, access, {table, offset, at.getInt64(place)}, at.getInt64(1));
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
    Value* offset = counter_offset(at, low);
    Instruction* here = nullptr;
    Instruction* apart = nullptr;
    SplitBlockAndInsertIfThenElse(
        fits, first, &here, &apart,
        MDBuilder(function_.getContext()).createBranchWeights(kOften, kSeldom));
    at.SetInsertPoint(here);
    count_page(here, like, {table, offset, places(at, begin, at.getInt64(count))},
               at.getInt64(count));
    at.SetInsertPoint(apart);
    locate(at, first);
    Value* below = at.getInt64(0);
    for (const uint64_t each : neighbours.offsets) {
        below =
            at.CreateAdd(below, at.CreateZExt(at.CreateICmpUGT(room, at.getInt64(each)), bits64_));
    }
    Value* above = at.CreateSub(at.getInt64(count), below);
    Value* next = counter_offset(at, at.CreateAdd(low, room));
    Value* lower = places(at, begin, below);
    Value* upper = places(at, at.CreateAdd(begin, below), above);
    count_page(apart, like, {table, offset, lower}, below);
    count_page(apart, like, {table, next, upper}, above);
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

}  // namespace numascape::pass
