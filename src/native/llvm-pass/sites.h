// SPDX-License-Identifier: Apache-2.0
//
// Descriptions of accesses for the runtime: where in the source they are.
#pragma once

#include <string>

#include "abi.h"
#include "accesses.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

namespace numascape::pass {

// The complete path of the file, as in the debug information.
std::string source_file(const llvm::DILocation& location);
// Headers of compilers and packages: if their code was inlined, the caller's line is more useful.
bool is_library_file(llvm::StringRef file);

class SiteWriter {
  public:
    explicit SiteWriter(llvm::Module& module) : module_(module) {}

    // Entries of the module's section kSiteSection, one for each access.
    llvm::GlobalVariable* block(llvm::ArrayRef<Access> accesses);

  private:
    struct Entry {
        llvm::GlobalVariable* names;
        uint32_t line;
        uint16_t reads, writes, entries;
    };
    Entry entry_of(const Access& access);
    llvm::GlobalVariable* names(const std::string& function, const std::string& file);
    llvm::GlobalVariable* write(llvm::ArrayRef<Entry> entries);

    llvm::Module& module_;
    llvm::StringMap<llvm::GlobalVariable*> names_;
};

}  // namespace numascape::pass
