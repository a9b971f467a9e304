// SPDX-License-Identifier: Apache-2.0
//
// Reads the types of variables from debug information.
#pragma once

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfoMetadata.h"

namespace numascape::pass {

// The type without its other names and qualifiers.
const llvm::DIType* without_names(const llvm::DIType* type);
bool has_tag(const llvm::DIType* type, llvm::dwarf::Tag tag);
bool is_reference(const llvm::DIType* type);
// The type to which a pointer points, or that of the elements of an array; null for other types.
const llvm::DIType* base_of(const llvm::DIType* type);
bool is_this(const llvm::DILocalVariable& variable);

}  // namespace numascape::pass
