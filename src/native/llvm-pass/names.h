// SPDX-License-Identifier: Apache-2.0
//
// Writes down what allocations are for: a section of text beside the debug information, which
// nothing loads, and which numascape.naming.compiled_destination reads.
#pragma once

#include "llvm/IR/PassManager.h"

namespace numascape::pass {

// Runs before the optimiser.
struct NameAllocations : llvm::PassInfoMixin<NameAllocations> {
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
    static bool isRequired() { return true; }  // without optimisation, too
};

}  // namespace numascape::pass
