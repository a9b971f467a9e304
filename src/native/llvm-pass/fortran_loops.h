// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"

namespace numascape::pass {

// While this object exists, loop variables of a Fortran function are known not to overflow. The
// language guarantees this, but flang 19 does not pass it on. The addresses that they form are then
// known to advance by steps.
class FortranLoops {
  public:
    FortranLoops(llvm::Function& function, const llvm::LoopInfo& loops);
    ~FortranLoops();
    FortranLoops(const FortranLoops&) = delete;
    FortranLoops& operator=(const FortranLoops&) = delete;
    bool known() const { return !increments_.empty(); }

  private:
    llvm::SmallVector<llvm::BinaryOperator*> increments_;
};

}  // namespace numascape::pass
