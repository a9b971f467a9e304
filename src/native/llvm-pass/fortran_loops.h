// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"

namespace numascape::pass {

// While it lives, the loop variables of a Fortran function are known not to overflow, as the
// language has it and flang 19 does not say: the addresses they make are steps then.
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
