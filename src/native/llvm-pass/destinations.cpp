// SPDX-License-Identifier: Apache-2.0
#include "destinations.h"

#include <algorithm>

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace numascape::pass {
namespace {

using namespace llvm;

constexpr unsigned kDeepest = 16;
constexpr size_t kMaxUses = 64;

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

bool takes_object(const DISubprogram* function) {
    if (function == nullptr || function->getType() == nullptr) {
        return false;
    }
    const DITypeRefArray types = function->getType()->getTypeArray();
    return types.size() > 1 && types[1] != nullptr && types[1]->isArtificial();
}

bool is_zero(const Value* index) {
    const auto* constant = dyn_cast<ConstantInt>(index);
    return constant != nullptr && constant->isZero();
}

bool passes_value_on(const User& user) {
    return isa<CastInst>(user) || isa<PHINode>(user) || isa<SelectInst>(user) ||
           isa<InsertValueInst>(user) || isa<GetElementPtrInst>(user);
}

}  // namespace

DestinationReader::DestinationReader(const Function& function)
    : function_(function), method_(false) {
    const auto add = [&](const Value* at, const DILocalVariable* variable) {
        if (at == nullptr) {
            return;
        }
        variables_[at] = variable;
        method_ = method_ || is_this(*variable);
        // The caller's memory for the function's result is recognised by where its address is
        // stored.
        for (const User* user : at->users()) {
            const auto* store = dyn_cast<StoreInst>(user);
            const auto* kept =
                store != nullptr ? dyn_cast<Argument>(store->getValueOperand()) : nullptr;
            if (kept != nullptr && kept->hasStructRetAttr()) {
                variables_[kept] = variable;
            }
        }
    };
    unsigned number = 0;
    for (const Instruction& each : instructions(function)) {
        order_[&each] = number++;
        // If clang optimises, it marks assignments (`#dbg_assign`).
        if (const auto* declared = dyn_cast<DbgDeclareInst>(&each)) {
            add(declared->getAddress(), declared->getVariable());
        } else if (const auto* assigned = dyn_cast<DbgAssignIntrinsic>(&each)) {
            add(assigned->getAddress(), assigned->getVariable());
        }
        for (DbgVariableRecord& record : filterDbgVars(each.getDbgRecordRange())) {
            if (record.isDbgDeclare() || record.isDbgAssign()) {
                const bool declares = record.isDbgDeclare();
                add(declares ? record.getVariableLocationOp(0) : record.getAddress(),
                    record.getVariable());
            }
        }
    }
}

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
    place.variable = dyn_cast<AllocaInst>(variable);
    place.own_object = is_this(known);
    if (known.getArg() > 0) {
        place.argument = static_cast<int>(known.getArg()) - 1 - (method_ ? 1 : 0);
    }
    if (const auto* argument = dyn_cast<Argument>(variable)) {
        place.returned = argument->hasStructRetAttr();
    }
    return place.text.empty() ? std::nullopt : std::optional(place);
}

// `ns::` as code in this function has to write it.
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

// The name of the member at this offset, and of members in parts without a name.
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
        } else if (!first || !is_zero(index)) {
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

const Instruction* DestinationReader::first_use_as_value(const Value* value) const {
    SmallVector<const Value*> pending = {value};
    SmallPtrSet<const Value*, 8> seen;
    const Instruction* first = nullptr;
    while (!pending.empty() && seen.size() < kMaxUses) {
        const Value* current = pending.pop_back_val();
        if (!seen.insert(current).second) {
            continue;
        }
        for (const User* user : current->users()) {
            const auto* store = dyn_cast<StoreInst>(user);
            const bool ends =
                isa<ReturnInst>(user) || (store != nullptr && store->getValueOperand() == current);
            const auto* instruction = cast<Instruction>(user);
            if (ends && (first == nullptr || order_.lookup(instruction) < order_.lookup(first))) {
                first = instruction;
            } else if (passes_value_on(*user)) {
                pending.push_back(user);
            }
        }
    }
    return first;
}

std::optional<DestinationReader::Place> DestinationReader::place_of_value(const Value* value,
                                                                          unsigned depth) {
    const Instruction* use = first_use_as_value(value);
    const auto* store = dyn_cast_or_null<StoreInst>(use);
    return store != nullptr ? describe(store->getPointerOperand(), depth) : std::nullopt;
}

// Memory for the function's result, which has no name: all that is read there is returned.
bool DestinationReader::is_returned(const AllocaInst& room) const {
    bool read = false;
    for (const User* user : room.users()) {
        if (const auto* load = dyn_cast<LoadInst>(user)) {
            const auto returned = [](const User* each) { return isa<ReturnInst>(each); };
            if (!llvm::all_of(load->users(), returned)) {
                return false;
            }
            read = true;
        }
    }
    return read;
}

Destination DestinationReader::classify(const Place& place) {
    Destination out;
    const bool plain = place.text == place.root;
    out.name = place.indirect ? "*" + place.text : place.text;
    if (place.own_object) {
        out.knows = Knows::kOwnObject;
        out.name = plain ? "" : out.name;
    } else if (place.returned && plain) {
        out.knows = Knows::kCaller;
    } else if (place.argument >= 0 && plain && (place.indirect || place.by_reference)) {
        out.knows = Knows::kArgument;
        out.argument = place.argument;
    } else if (plain && !place.indirect && place.argument < 0) {
        out.variable = place.variable;
    }
    return out;
}

std::optional<Destination> DestinationReader::stored_at(const Instruction* use, unsigned depth) {
    if (use == nullptr) {
        return std::nullopt;
    }
    Destination returned;
    returned.knows = Knows::kCaller;
    const auto* store = dyn_cast<StoreInst>(use);
    if (store == nullptr) {
        return returned;
    }
    const auto* room = dyn_cast<AllocaInst>(store->getPointerOperand());
    if (room != nullptr && !variables_.contains(room)) {
        return is_returned(*room) ? std::optional(returned) : std::nullopt;
    }
    auto place = describe(store->getPointerOperand(), depth);
    if (place && !place->indirect) {  // an array's first element has the array's address
        for (; has_tag(place->type, dwarf::DW_TAG_array_type); place->type = base_of(place->type)) {
            place->text += "[0]";
        }
    }
    return place ? std::optional(classify(*place)) : std::nullopt;
}

std::optional<Destination> DestinationReader::handed_on(const AllocaInst& variable) {
    const Instruction* first = nullptr;
    for (const User* user : variable.users()) {
        const auto* load = dyn_cast<LoadInst>(user);
        const Instruction* use = load != nullptr ? first_use_as_value(load) : nullptr;
        const auto to = stored_at(use, 1);
        if (to && to->knows == Knows::kCaller) {
            return to;
        }
        if (to && to->variable == nullptr &&
            (first == nullptr || order_.lookup(use) < order_.lookup(first))) {
            first = use;
        }
    }
    return stored_at(first, 1);
}

// A value that is not stored may be an argument of a call. Its name is then the destination of this
// call, or else the name of the call.
std::optional<Destination> DestinationReader::of_argument_use(const CallBase& call) {
    for (const User* user : call.users()) {
        const auto* outer = dyn_cast<CallBase>(user);
        const Function* called = outer != nullptr ? outer->getCalledFunction() : nullptr;
        if (called != nullptr && !called->isIntrinsic() && call.hasOneUse()) {
            if (auto to = of_value(*outer)) {
                return to;
            }
            const DISubprogram* known = called->getSubprogram();
            const StringRef name = known != nullptr ? known->getName() : called->getName();
            if (!name.empty() && !name.starts_with("_Z")) {
                Destination out;
                out.name = (name + "()").str();
                return out;
            }
        }
    }
    return std::nullopt;
}

std::optional<Destination> DestinationReader::of_value(const CallBase& call) {
    if (call.getType()->isPointerTy()) {
        const Instruction* use = first_use_as_value(&call);
        return use != nullptr ? stored_at(use, 1) : of_argument_use(call);
    }
    if (call.hasStructRetAttr()) {
        const auto place = describe(call.getArgOperand(0));
        return place ? std::optional(classify(*place)) : std::nullopt;
    }
    const Function* called = call.getCalledFunction();
    if (called != nullptr && takes_object(called->getSubprogram())) {
        return of_object(call);
    }
    for (const Use& argument : call.args()) {
        const bool addressed = isa<AllocaInst>(argument) || isa<GetElementPtrInst>(argument) ||
                               isa<GlobalVariable>(argument);
        const auto place = addressed ? describe(argument) : std::nullopt;
        if (place && !place->indirect && has_tag(place->type, dwarf::DW_TAG_pointer_type)) {
            return classify(*place);
        }
    }
    return of_object(call);
}

std::optional<Destination> DestinationReader::of_object(const CallBase& call) {
    const Function* called = call.getCalledFunction();
    if (called == nullptr || !called->getName().starts_with("_ZN") || call.arg_empty() ||
        !call.getArgOperand(0)->getType()->isPointerTy()) {
        return std::nullopt;
    }
    const auto place = describe(call.getArgOperand(0));
    return place ? std::optional(classify(*place)) : std::nullopt;
}

std::optional<Destination> DestinationReader::of_argument(const CallBase& call, unsigned number) {
    const Function* called = call.getCalledFunction();
    const DISubprogram* known = called != nullptr ? called->getSubprogram() : nullptr;
    if (known == nullptr || known->getType() == nullptr) {
        return std::nullopt;
    }
    const unsigned room = call.hasStructRetAttr() ? 1 : 0;
    const unsigned skipped = room + (takes_object(known) ? 1 : 0);
    const unsigned types = known->getType()->getTypeArray().size();
    // Arguments that are passed in parts shift the others.
    if (types == 0 || call.arg_size() != types - 1 + room || number + skipped >= call.arg_size()) {
        return std::nullopt;
    }
    const Value* argument = call.getArgOperand(number + skipped);
    const auto place = argument->getType()->isPointerTy() ? describe(argument) : std::nullopt;
    const bool holds_pointer = place && (has_tag(place->type, dwarf::DW_TAG_pointer_type) ||
                                         has_tag(place->type, dwarf::DW_TAG_class_type) ||
                                         has_tag(place->type, dwarf::DW_TAG_structure_type));
    return holds_pointer ? std::optional(classify(*place)) : std::nullopt;
}

}  // namespace numascape::pass
