// SPDX-License-Identifier: Apache-2.0
#include "accesses.h"

#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"

namespace numascape::pass {
namespace {

using namespace llvm;

constexpr unsigned kMaxUsesOfVariable = 200;
constexpr unsigned kLargestExpression = 60;
// The displacements of the instructions that mark a phase and a memory region:
// NUMASCAPE_PHASE_MARK and NUMASCAPE_REGION_MARK.
constexpr char kMarkText[] = "0x4e554d41";
constexpr char kRegionMarkText[] = "0x4e554d52";

// Whether the instruction is an inline assembler statement with this text and this number of
// arguments, of which the first one is a pointer.
bool is_statement(const Instruction& instruction, const char* text, unsigned arguments) {
    const auto* call = dyn_cast<CallInst>(&instruction);
    const auto* code = call != nullptr ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
    return code != nullptr && call->arg_size() == arguments &&
           StringRef(code->getAsmString()).contains(text) &&
           call->getArgOperand(0)->getType()->isPointerTy();
}

// Finds the pointers to variables on the stack that no other function or thread can access.
class PrivateVariables {
  public:
    bool contains(const Value* pointer) {
        const auto* variable = dyn_cast<AllocaInst>(getUnderlyingObject(pointer, 0));
        if (variable == nullptr) {
            return false;
        }
        const auto [at, fresh] = known_.try_emplace(variable, false);
        if (fresh) {
            at->second = !PointerMayBeCaptured(variable, true, true, kMaxUsesOfVariable);
        }
        return at->second;
    }

  private:
    DenseMap<const AllocaInst*, bool> known_;
};

void add_memory_function(MemIntrinsic& call, PrivateVariables& variables,
                         SmallVectorImpl<Access>& out) {
    uint16_t each = 1;
    Value* length = call.getLength();
    if (const auto* constant = dyn_cast<ConstantInt>(length)) {
        const uint64_t bytes = constant->getZExtValue();
        if (bytes == 0) {
            return;
        }
        if (bytes <= kMaxInlineBytes) {
            each = static_cast<uint16_t>((bytes + kBytesPerAccess - 1) / kBytesPerAccess);
            length = nullptr;
        }
    }
    if (auto* transfer = dyn_cast<MemTransferInst>(&call)) {
        if (transfer->getSourceAddressSpace() == 0 && !variables.contains(transfer->getSource())) {
            out.push_back({&call, transfer->getSource(), each, 0, length});
        }
    }
    if (call.getDestAddressSpace() == 0 && !variables.contains(call.getDest())) {
        out.push_back({&call, call.getDest(), 0, each, length});
    }
}

}  // namespace

SmallVector<Access> find_accesses(Function& function) {
    SmallVector<Access> out;
    PrivateVariables variables;
    const auto add = [&](Instruction& at, Value* pointer, uint16_t reads, uint16_t writes) {
        if (pointer->getType()->getPointerAddressSpace() == 0 && !pointer->isSwiftError() &&
            !variables.contains(pointer)) {
            out.push_back({&at, pointer, reads, writes, nullptr});
        }
    };
    for (BasicBlock& block : function) {
        for (Instruction& at : block) {
            if (at.hasMetadata(LLVMContext::MD_nosanitize)) {
                continue;
            }
            if (auto* load = dyn_cast<LoadInst>(&at)) {
                add(at, load->getPointerOperand(), 1, 0);
            } else if (auto* store = dyn_cast<StoreInst>(&at)) {
                add(at, store->getPointerOperand(), 0, 1);
            } else if (auto* update = dyn_cast<AtomicRMWInst>(&at)) {
                add(at, update->getPointerOperand(), 1, 1);
            } else if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&at)) {
                add(at, exchange->getPointerOperand(), 1, 1);
            } else if (auto* call = dyn_cast<MemIntrinsic>(&at)) {
                add_memory_function(*call, variables, out);
            }
        }
    }
    return out;
}

bool is_phase_mark(const Instruction& instruction) {
    return is_statement(instruction, kMarkText, 1);
}

bool is_region_mark(const Instruction& instruction) {
    return is_statement(instruction, kRegionMarkText, 3);
}

bool is_mark(const Instruction& instruction) {
    return is_phase_mark(instruction) || is_region_mark(instruction);
}

bool is_unknown_call(const Instruction& instruction) {
    const auto* call = dyn_cast<CallBase>(&instruction);
    return call != nullptr && !isa<IntrinsicInst>(call) &&
           (!call->isInlineAsm() || is_mark(instruction));
}

const LoopCounts::Facts& LoopCounts::facts(const Loop* loop) {
    const auto [at, fresh] = facts_.try_emplace(loop, Facts{false, false});
    if (fresh) {
        Facts found{false, false};
        for (const BasicBlock* block : loop->blocks()) {
            for (const Instruction& each : *block) {
                found.calls = found.calls || is_unknown_call(each);
                const auto* call = dyn_cast<CallBase>(&each);
                const bool plain = isa<LoadInst>(each) || isa<StoreInst>(each) ||
                                   (isa<CallInst>(each) && call->isInlineAsm());
                found.may_leave = found.may_leave || is_mark(each) ||
                                  (!plain && !isGuaranteedToTransferExecutionToSuccessor(&each));
            }
        }
        facts_[loop] = found;
    }
    return facts_[loop];
}

// How often `block` executes in one run of the loop; null if that is unknown before the loop.
const SCEV* LoopCounts::executions(const Loop* loop, const BasicBlock* block) {
    const BasicBlock* exiting = loop->getExitingBlock();
    if (exiting == nullptr || !loop->isLoopSimplifyForm() || facts(loop).may_leave ||
        !tree_.dominates(block, loop->getLoopLatch())) {
        return nullptr;
    }
    const SCEV* taken = evolution_.getBackedgeTakenCount(loop);
    if (isa<SCEVCouldNotCompute>(taken) || taken->getType()->isPointerTy()) {
        return nullptr;
    }
    Type* const bits64 = Type::getInt64Ty(block->getContext());
    const SCEV* times = evolution_.getTruncateOrZeroExtend(taken, bits64);
    if (tree_.dominates(block, exiting)) {
        return evolution_.getAddExpr(times, evolution_.getOne(bits64));
    }
    return times;
}

bool LoopCounts::expandable(const Nest& nest, const Instruction* at) const {
    const auto fits = [&](const SCEV* value) {
        return value->getExpressionSize() <= kLargestExpression &&
               expander_.isSafeToExpandAt(value, at);
    };
    const bool conditions = llvm::all_of(nest.conditions, [&](const Nest::Condition& condition) {
        return fits(condition.left) && fits(condition.right);
    });
    return conditions && fits(nest.start) &&
           llvm::all_of(nest.dimensions, [&](const Dimension& dimension) {
               return fits(dimension.step) && fits(dimension.count);
           });
}

// Goes from a block that executes under loop-invariant conditions to one that always executes. Such
// a block is the preheader of an inner loop, which executes if the loop has any iterations.
const BasicBlock* LoopCounts::outside_conditions(const Loop* loop, const BasicBlock* block,
                                                 Nest& nest) {
    constexpr unsigned kMaxConditions = 3;
    while (!tree_.dominates(block, loop->getLoopLatch()) &&
           nest.conditions.size() < kMaxConditions) {
        const BasicBlock* before = block->getSinglePredecessor();
        const auto* branch = before != nullptr && loop->contains(before)
                                 ? dyn_cast<BranchInst>(before->getTerminator())
                                 : nullptr;
        if (branch == nullptr) {
            break;
        }
        if (branch->isConditional()) {
            const auto* test = dyn_cast<ICmpInst>(branch->getCondition());
            if (test == nullptr || !evolution_.isSCEVable(test->getOperand(0)->getType())) {
                break;
            }
            const SCEV* left = evolution_.getSCEV(test->getOperand(0));
            const SCEV* right = evolution_.getSCEV(test->getOperand(1));
            if (!evolution_.isLoopInvariant(left, loop) ||
                !evolution_.isLoopInvariant(right, loop)) {
                break;
            }
            nest.conditions.push_back({branch->getSuccessor(0) == block
                                           ? test->getPredicate()
                                           : test->getInversePredicate(),
                                       left, right});
        }
        block = before;
    }
    return block;
}

// Adds the loop to the nest of an access whose inner loops begin in `block`.
bool LoopCounts::add_loop(const Loop* loop, const BasicBlock* block, Nest& nest) {
    if (loop->getLoopLatch() == nullptr || nest.dimensions.size() == kMaxDimensions) {
        return false;
    }
    Nest outer = nest;
    const SCEV* times = executions(loop, outside_conditions(loop, block, outer));
    if (times == nullptr) {
        return false;
    }
    for (const Nest::Condition& condition : nest.conditions) {
        if (!evolution_.isLoopInvariant(condition.left, loop) ||
            !evolution_.isLoopInvariant(condition.right, loop)) {
            return false;
        }
    }
    for (const Dimension& inner : nest.dimensions) {
        if (!evolution_.isLoopInvariant(inner.step, loop) ||
            !evolution_.isLoopInvariant(inner.count, loop)) {
            return false;
        }
    }
    const auto* recurrence = dyn_cast<SCEVAddRecExpr>(nest.start);
    if (recurrence != nullptr && recurrence->getLoop() == loop && recurrence->isAffine()) {
        const SCEV* step = recurrence->getStepRecurrence(evolution_);
        outer.start = recurrence->getStart();
        outer.dimensions.push_back({step, times});
    } else if (evolution_.isLoopInvariant(nest.start, loop)) {
        outer.dimensions.push_back({evolution_.getZero(times->getType()), times});
    } else {
        return false;
    }
    outer.before = loop->getLoopPreheader()->getTerminator();
    if (!evolution_.isLoopInvariant(outer.dimensions.back().step, loop) ||
        !expandable(outer, outer.before)) {
        return false;
    }
    nest = outer;
    return true;
}

bool LoopCounts::describe(const Access& access, Nest& nest) {
    nest = {evolution_.getSCEV(access.pointer), {}, access.instruction, {}};
    Type* const bits64 = Type::getInt64Ty(access.instruction->getContext());
    if (access.length != nullptr) {
        const SCEV* bytes =
            evolution_.getTruncateOrZeroExtend(evolution_.getSCEV(access.length), bits64);
        const SCEV* each = evolution_.getConstant(bits64, kBytesPerAccess);
        const SCEV* more = evolution_.getConstant(bits64, kBytesPerAccess - 1);
        nest.dimensions.push_back(
            {each, evolution_.getUDivExpr(evolution_.getAddExpr(bytes, more), each)});
    }
    const BasicBlock* block = access.instruction->getParent();
    for (const Loop* loop = loops_.getLoopFor(block); loop != nullptr;
         loop = loop->getParentLoop()) {
        if (!add_loop(loop, block, nest)) {
            break;
        }
        block = loop->getLoopPreheader();
    }
    return !nest.dimensions.empty();
}

Executions LoopCounts::executions_of(ArrayRef<Access> accesses) {
    const BasicBlock* block = accesses.front().instruction->getParent();
    const Loop* loop = loops_.getLoopFor(block);
    const SCEV* count = loop != nullptr ? executions(loop, block) : nullptr;
    if (count == nullptr) {
        return {};
    }
    Executions out{count, {}, loop->getLoopPreheader()->getTerminator()};
    for (const Access& access : accesses) {
        const SCEV* base = evolution_.getPointerBase(evolution_.getSCEV(access.pointer));
        if (!evolution_.isLoopInvariant(base, loop) ||
            !expander_.isSafeToExpandAt(base, out.before)) {
            return {};
        }
        out.structures.push_back(base);
    }
    if (count->getExpressionSize() > kLargestExpression ||
        !expander_.isSafeToExpandAt(count, out.before)) {
        return {};
    }
    return out;
}

Loop* LoopCounts::outermost_without_calls(const BasicBlock* block) {
    Loop* found = nullptr;
    for (Loop* loop = loops_.getLoopFor(block); loop != nullptr && !facts(loop).calls;
         loop = loop->getParentLoop()) {
        found = loop->getLoopPreheader() != nullptr ? loop : found;
    }
    return found;
}

}  // namespace numascape::pass
