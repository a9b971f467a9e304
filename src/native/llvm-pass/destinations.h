// SPDX-License-Identifier: Apache-2.0
//
// The variable or field to which the result of a call is assigned. This is read from the output of
// the compiler's front end, before the optimiser changes it. It needs debug information.
#pragma once

#include <optional>
#include <string>

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"

namespace numascape::pass {

// Which function knows the name, as in numascape.naming.destination.DestinationKind.
enum class Knows : char {
    kThis = 'v',       // this function: the value goes to one of its variables
    kCaller = 'r',     // the caller: this function returns the value
    kArgument = 'p',   // the caller: argument number `argument` points to the place
    kOwnObject = 'm',  // the caller: a member of the object that the function works on
};

struct Destination {
    Knows knows = Knows::kThis;
    int argument = -1;
    std::string name;
    // Only set for a plain local variable, because the pointer to the block may be copied from
    // there.
    const llvm::AllocaInst* variable = nullptr;
};

class DestinationReader {
  public:
    explicit DestinationReader(const llvm::Function& function);

    // The variable or field that gets the result of the call. For a call without a result: the
    // object that it works on, such as `&x`.
    std::optional<Destination> of_value(const llvm::CallBase& call);
    // The destination to which the value of a local variable is copied: the caller, or the first
    // place at which it is stored.
    std::optional<Destination> handed_on(const llvm::AllocaInst& variable);
    // The object that a C++ function is called for.
    std::optional<Destination> of_object(const llvm::CallBase& call);
    // The object to which argument `number` of the source refers, if the argument is a pointer.
    std::optional<Destination> of_argument(const llvm::CallBase& call, unsigned number);

  private:
    // An object in memory by its name in the source.
    struct Place {
        std::string root;  // the variable
        std::string text;
        const llvm::DIType* type = nullptr;
        bool indirect = false;  // `text` is a pointer to the object
        bool by_reference = false;
        bool own_object = false;  // `this`, or a member of `*this`
        bool returned = false;    // the memory of the caller for the result of the function
        int argument = -1;
        const llvm::AllocaInst* variable = nullptr;
        const llvm::AllocaInst* root_variable = nullptr;

        // Whether it is a member of what `root` points to, or of `root`.
        bool in_pointee() const { return !indirect && text.starts_with(root + "->"); }
        bool in_root() const { return !indirect && text.starts_with(root + "."); }
    };
    std::optional<Place> describe(const llvm::Value* address, unsigned depth = 0);
    std::optional<Place> describe_variable(const llvm::Value* variable);
    std::optional<Place> describe_global(const llvm::GlobalVariable& variable);
    std::string namespaces_of(const llvm::DIGlobalVariable& variable) const;
    std::optional<Place> loaded_from(std::optional<Place> pointer);
    std::optional<Place> element(const llvm::GetElementPtrInst& element, unsigned depth);
    bool add_member(Place& place, uint64_t offset_bits);
    std::string index_text(const llvm::Value* index);
    // The first instruction that stores the value or returns it.
    const llvm::Instruction* first_use_as_value(const llvm::Value* value) const;
    std::optional<Place> place_of_value(const llvm::Value* value, unsigned depth);
    std::optional<Destination> stored_at(const llvm::Instruction* use, unsigned depth);
    std::optional<Destination> of_argument_use(const llvm::CallBase& call);
    Destination classify(const Place& place) const;
    bool is_of_argument(const Place& place) const;
    bool is_of_result(const Place& place) const;
    bool is_returned(const llvm::AllocaInst& room) const;
    bool is_returned(const llvm::Instruction* use) const;

    const llvm::Function& function_;
    bool method_;
    llvm::DenseMap<const llvm::Value*, const llvm::DILocalVariable*> variables_;
    llvm::DenseMap<const llvm::Instruction*, unsigned> order_;
};

}  // namespace numascape::pass
