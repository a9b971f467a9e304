// SPDX-License-Identifier: Apache-2.0
#include "debug_types.h"

namespace numascape::pass {

using namespace llvm;

const DIType* without_names(const DIType* type) {
    const auto* derived = dyn_cast_or_null<DIDerivedType>(type);
    while (derived != nullptr && (derived->getTag() == dwarf::DW_TAG_typedef ||
                                  derived->getTag() == dwarf::DW_TAG_const_type ||
                                  derived->getTag() == dwarf::DW_TAG_volatile_type ||
                                  derived->getTag() == dwarf::DW_TAG_restrict_type)) {
        type = derived->getBaseType();
        derived = dyn_cast_or_null<DIDerivedType>(type);
    }
    return type;
}

bool has_tag(const DIType* type, dwarf::Tag tag) {
    return type != nullptr && type->getTag() == tag;
}

bool is_reference(const DIType* type) {
    return has_tag(type, dwarf::DW_TAG_reference_type) ||
           has_tag(type, dwarf::DW_TAG_rvalue_reference_type);
}

const DIType* base_of(const DIType* type) {
    if (const auto* derived = dyn_cast_or_null<DIDerivedType>(type)) {
        return without_names(derived->getBaseType());
    }
    const auto* composite = dyn_cast_or_null<DICompositeType>(type);
    return has_tag(type, dwarf::DW_TAG_array_type) ? without_names(composite->getBaseType())
                                                   : nullptr;
}

bool is_this(const DILocalVariable& variable) {
    return variable.isArtificial() && variable.getName() == "this";
}

}  // namespace numascape::pass
