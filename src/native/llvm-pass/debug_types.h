// SPDX-License-Identifier: Apache-2.0
//
// What debug information says of the types of variables.
#pragma once

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfoMetadata.h"

namespace numascape::pass {

// The type without its other names and qualifiers.
const llvm::DIType* without_names(const llvm::DIType* type);
bool has_tag(const llvm::DIType* type, llvm::dwarf::Tag tag);
bool is_reference(const llvm::DIType* type);
// What a pointer points to, or the elements of an array; null for other types.
const llvm::DIType* base_of(const llvm::DIType* type);
bool is_this(const llvm::DILocalVariable& variable);

}  // namespace numascape::pass
