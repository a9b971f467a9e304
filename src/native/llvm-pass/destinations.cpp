// SPDX-License-Identifier: Apache-2.0
#include "destinations.h"

#include <algorithm>

#include "debug_types.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace numascape::pass {
namespace {

using namespace llvm;

constexpr size_t kMaxUses = 64;

bool takes_object(const DISubprogram* function) {
    if (function == nullptr || function->getType() == nullptr) {
        return false;
    }
    const DITypeRefArray types = function->getType()->getTypeArray();
    return types.size() > 1 && types[1] != nullptr && types[1]->isArtificial();
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

// Whether this is the memory for the function's result, which has no name: all values that are read
// there are returned.
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

// Whether a pointer or a reference among the arguments refers to it, or to an object around it.
bool DestinationReader::is_of_argument(const Place& place) const {
    if (place.argument < 0) {
        return false;
    }
    const bool plain = place.text == place.root && (place.indirect || place.by_reference);
    const bool pointed = place.indirect && place.text == "(*" + place.root + ")";
    return plain || pointed || place.in_pointee() || (place.in_root() && place.by_reference);
}

// Whether it is the function's result, or a part of it.
bool DestinationReader::is_of_result(const Place& place) const {
    if (place.returned) {
        return place.text == place.root || place.in_root();
    }
    return place.argument < 0 && place.root_variable != nullptr && place.in_pointee() &&
           llvm::any_of(
               place.root_variable->users(),
               [&](const User* user) {
                   const auto* load = dyn_cast<LoadInst>(user);
                   return load != nullptr && is_returned(first_use_as_value(load));
               });
}

// Whether the use returns the value, or stores it in the memory of the function's result, which has
// no name.
bool DestinationReader::is_returned(const Instruction* use) const {
    const auto* store = dyn_cast_or_null<StoreInst>(use);
    const auto* room =
        store != nullptr ? dyn_cast<AllocaInst>(store->getPointerOperand()) : nullptr;
    return room != nullptr ? !variables_.contains(room) && is_returned(*room)
                           : isa_and_nonnull<ReturnInst>(use);
}

Destination DestinationReader::classify(const Place& place) const {
    Destination out;
    const bool plain = place.text == place.root;
    out.name = place.indirect ? "*" + place.text : place.text;
    if (place.own_object) {
        out.knows = Knows::kOwnObject;
        out.name = plain ? "" : out.name;
    } else if (is_of_result(place)) {
        out.knows = Knows::kCaller;
    } else if (is_of_argument(place)) {
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
