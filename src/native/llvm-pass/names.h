// SPDX-License-Identifier: Apache-2.0
//
// Records for which variables memory is allocated, in a section of text beside the debug
// information. The section is not loaded; numascape.naming.compiled_destination reads it.
#pragma once

#include "llvm/IR/PassManager.h"

namespace numascape::pass {

// Runs before the optimiser.
struct NameAllocations : llvm::PassInfoMixin<NameAllocations> {
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
    static bool isRequired() { return true; }  // without optimisation, too
};

}  // namespace numascape::pass
