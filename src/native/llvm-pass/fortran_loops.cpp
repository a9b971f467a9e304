// SPDX-License-Identifier: Apache-2.0
#include "fortran_loops.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"

namespace numascape::pass {

using namespace llvm;

FortranLoops::FortranLoops(Function& function, const LoopInfo& loops) {
    const DISubprogram* described = function.getSubprogram();
    if (described == nullptr || described->getUnit() == nullptr ||
        !dwarf::isFortran(
            static_cast<dwarf::SourceLanguage>(described->getUnit()->getSourceLanguage()))) {
        return;
    }
    for (Loop* loop : loops.getLoopsInPreorder()) {
        const BasicBlock* latch = loop->getLoopLatch();
        for (PHINode& variable : loop->getHeader()->phis()) {
            auto* next = latch != nullptr && variable.getType()->isIntegerTy()
                             ? dyn_cast<BinaryOperator>(variable.getIncomingValueForBlock(latch))
                             : nullptr;
            if (next != nullptr && next->getOpcode() == Instruction::Add &&
                next->getOperand(0) == &variable && loop->isLoopInvariant(next->getOperand(1)) &&
                !next->hasNoSignedWrap()) {
                next->setHasNoSignedWrap(true);
                increments_.push_back(next);
            }
        }
    }
}

FortranLoops::~FortranLoops() {
    for (BinaryOperator* each : increments_) {
        each->setHasNoSignedWrap(false);
    }
}

}  // namespace numascape::pass
