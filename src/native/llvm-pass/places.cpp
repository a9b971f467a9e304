// SPDX-License-Identifier: Apache-2.0
//
// Objects in memory by their names in the source: variables, their members and elements, and what
// they point to.
#include "debug_types.h"
#include "destinations.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/GlobalVariable.h"

namespace numascape::pass {
namespace {

using namespace llvm;

constexpr unsigned kDeepest = 16;

bool is_zero_index(const Value* index) {
    const auto* constant = dyn_cast<ConstantInt>(index);
    return constant != nullptr && constant->isZero();
}

}  // namespace

std::optional<DestinationReader::Place> DestinationReader::describe_variable(
    const Value* variable) {
    const auto at = variables_.find(variable);
    if (at == variables_.end()) {
        return std::nullopt;
    }
    const DILocalVariable& known = *at->second;
    Place place;
    place.root = place.text = known.getName().str();
    place.type = without_names(known.getType());
    place.variable = place.root_variable = dyn_cast<AllocaInst>(variable);
    place.own_object = is_this(known);
    if (known.getArg() > 0) {
        place.argument = static_cast<int>(known.getArg()) - 1 - (method_ ? 1 : 0);
    }
    if (const auto* argument = dyn_cast<Argument>(variable)) {
        place.returned = argument->hasStructRetAttr();
    }
    return place.text.empty() ? std::nullopt : std::optional(place);
}

// The prefix `ns::` that code in this function has to write.
std::string DestinationReader::namespaces_of(const DIGlobalVariable& variable) const {
    SmallPtrSet<const DIScope*, 4> around;
    for (const DIScope* scope = function_.getSubprogram(); scope != nullptr;
         scope = scope->getScope()) {
        around.insert(scope);
    }
    std::string text;
    for (const DIScope* scope = variable.getScope(); scope != nullptr && !around.contains(scope);
         scope = scope->getScope()) {
        if (isa<DINamespace>(scope) && !scope->getName().empty()) {
            text = scope->getName().str() + "::" + text;
        }
    }
    return text;
}

std::optional<DestinationReader::Place> DestinationReader::describe_global(
    const GlobalVariable& variable) {
    Place place;
    SmallVector<DIGlobalVariableExpression*, 1> known;
    variable.getDebugInfo(known);
    if (!known.empty()) {
        place.text = known.front()->getVariable()->getName().str();
        place.type = without_names(known.front()->getVariable()->getType());
        if (!place.text.empty()) {
            place.text = namespaces_of(*known.front()->getVariable()) + place.text;
        }
    }
    place.root = place.text;
    return place.text.empty() ? std::nullopt : std::optional(place);
}

// The object that the pointer, or reference, at `pointer` refers to.
std::optional<DestinationReader::Place> DestinationReader::loaded_from(
    std::optional<Place> pointer) {
    if (!pointer) {
        return std::nullopt;
    }
    Place place = *pointer;
    place.type = base_of(pointer->type);
    place.variable = nullptr;
    if (is_reference(pointer->type)) {
        place.by_reference = true;
        return place;
    }
    if (place.indirect) {
        place.text = "(*" + place.text + ")";
    }
    place.indirect = true;
    return place;
}

// Adds the name of the member at this offset. The member may be in a base class, or in a member
// without a name.
bool DestinationReader::add_member(Place& place, uint64_t offset_bits) {
    for (unsigned depth = 0; depth < kDeepest; ++depth) {
        const auto* composite = dyn_cast_or_null<DICompositeType>(place.type);
        if (composite == nullptr || has_tag(composite, dwarf::DW_TAG_union_type)) {
            return false;
        }
        const DIDerivedType* around = nullptr;
        for (const DINode* element : composite->getElements()) {
            const auto* member = dyn_cast<DIDerivedType>(element);
            if (member == nullptr || member->isStaticMember() || member->isBitField()) {
                continue;
            }
            const uint64_t start = member->getOffsetInBits();
            const bool is_member = member->getTag() == dwarf::DW_TAG_member;
            if (is_member && !member->getName().empty() && start == offset_bits) {
                const bool own = place.own_object && place.text == "this";
                place.text =
                    own ? member->getName().str()
                        : place.text + (place.indirect ? "->" : ".") + member->getName().str();
                place.type = without_names(member->getBaseType());
                place.indirect = false;
                return true;
            }
            const bool transparent = member->getTag() == dwarf::DW_TAG_inheritance || is_member;
            const DIType* type = without_names(member->getBaseType());
            if (transparent && (!is_member || member->getName().empty()) && type != nullptr &&
                offset_bits >= start && offset_bits < start + type->getSizeInBits()) {
                around = member;
            }
        }
        if (around == nullptr) {
            return false;
        }
        offset_bits -= around->getOffsetInBits();
        place.type = without_names(around->getBaseType());
    }
    return false;
}

std::string DestinationReader::index_text(const Value* index) {
    while (const auto* cast = dyn_cast<CastInst>(index)) {
        index = cast->getOperand(0);
    }
    if (const auto* constant = dyn_cast<ConstantInt>(index)) {
        return std::to_string(constant->getSExtValue());
    }
    const auto* load = dyn_cast<LoadInst>(index);
    const auto place = load != nullptr ? describe(load->getPointerOperand(), 1) : std::nullopt;
    return place && !place->indirect ? place->text : "";
}

std::optional<DestinationReader::Place> DestinationReader::element(const GetElementPtrInst& element,
                                                                   unsigned depth) {
    std::optional<Place> place = describe(element.getPointerOperand(), depth + 1);
    if (!place) {
        return std::nullopt;
    }
    place->variable = nullptr;
    bool first = true;
    for (auto at = gep_type_begin(element); at != gep_type_end(element); ++at) {
        const Value* index = at.getOperand();
        if (StructType* structure = at.getStructTypeOrNull()) {
            const auto number = static_cast<unsigned>(cast<ConstantInt>(index)->getZExtValue());
            const auto& layout = *function_.getDataLayout().getStructLayout(structure);
            if (!add_member(*place, layout.getElementOffsetInBits(number).getFixedValue())) {
                return std::nullopt;
            }
        } else if (!first || !is_zero_index(index)) {
            const std::string text = index_text(index);
            if (text.empty() || (first && !place->indirect)) {
                return std::nullopt;
            }
            place->text += "[" + text + "]";
            place->type = first ? place->type : base_of(place->type);
            place->indirect = false;
        }
        first = false;
    }
    return place;
}

std::optional<DestinationReader::Place> DestinationReader::describe(const Value* address,
                                                                    unsigned depth) {
    if (depth > kDeepest) {
        return std::nullopt;
    }
    if (isa<AllocaInst>(address) || isa<Argument>(address)) {
        return describe_variable(address);
    }
    if (const auto* global = dyn_cast<GlobalVariable>(address)) {
        return describe_global(*global);
    }
    if (const auto* load = dyn_cast<LoadInst>(address)) {
        return loaded_from(describe(load->getPointerOperand(), depth + 1));
    }
    if (const auto* part = dyn_cast<GetElementPtrInst>(address)) {
        return element(*part, depth);
    }
    if (const auto* call = dyn_cast<CallBase>(address)) {
        return loaded_from(place_of_value(call, depth + 1));
    }
    return std::nullopt;
}

}  // namespace numascape::pass
