// SPDX-License-Identifier: Apache-2.0
//
// The section has a string for each source file of each object file: its path, and a line
//
//   LINE COLUMN SLOT KNOWS ARGUMENT NAME
//
// for each call and slot, separated by tabs. KNOWS, ARGUMENT and NAME are a Destination. SLOT says
// which value goes there:
//
//   v         the result of the call
//   h         the value of the local variable in the line before
//   o         the object that the call is for
//   a number  what this argument of the call points to
//
// Calls at one place (of a macro) are in the order of execution.
#include "names.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "destinations.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "sites.h"

namespace numascape::pass {
namespace {

using namespace llvm;

constexpr char kSection[] = ".debug_numascape";  // `.debug_`: strip treats it as debug information
constexpr size_t kLongestName = 200;
constexpr unsigned kMaxArguments = 16;

// Has each line once, in the order of the calls, because templates are compiled many times.
struct Lines {
    std::vector<std::string> text;
    StringSet<> known;
    void add(const std::string& line) {
        if (known.insert(line).second) {
            text.push_back(line);
        }
    }
};
using Files = std::map<std::string, Lines>;

// Whether the name is one line of text, and not longer than the names of variables in C++ and
// Fortran.
bool is_wanted(const Destination& to) {
    return to.name.size() <= kLongestName &&
           llvm::all_of(to.name, [](char c) { return isPrint(c) || (c & 0x80) != 0; });
}

std::string line_of(const DILocation& at, const Twine& slot, const Destination& to) {
    return (Twine(at.getLine()) + "\t" + Twine(at.getColumn()) + "\t" + slot + "\t" +
            Twine(static_cast<char>(to.knows)) + "\t" + Twine(to.argument) + "\t" + to.name)
        .str();
}

bool is_destructor(const CallBase& call) {
    const Function* called = call.getCalledFunction();
    const StringRef name = called != nullptr ? called->getName() : "";
    return name.ends_with("D0Ev") || name.ends_with("D1Ev") || name.ends_with("D2Ev");
}

void add_call(const CallBase& call, const DILocation& at, DestinationReader& reader, Lines& lines) {
    const auto add = [&](const Twine& slot, const std::optional<Destination>& to) {
        if (to && is_wanted(*to)) {
            lines.add(line_of(at, slot, *to));
        }
    };
    const auto value = reader.of_value(call);
    add("v", value);
    if (value && value->variable != nullptr) {
        add("h", reader.handed_on(*value->variable));
    }
    add("o", reader.of_object(call));
    for (unsigned number = 0; number < std::min<unsigned>(call.arg_size(), kMaxArguments);
         ++number) {
        add(Twine(number), reader.of_argument(call, number));
    }
}

void add_function(const Function& function, Files& files) {
    DestinationReader reader(function);
    for (const Instruction& each : instructions(function)) {
        const auto* call = dyn_cast<CallBase>(&each);
        const DILocation* at = each.getDebugLoc().get();
        if (call == nullptr || isa<IntrinsicInst>(each) || is_destructor(*call) || at == nullptr ||
            at->getLine() == 0) {
            continue;
        }
        const std::string file = source_file(*at);
        if (!is_library_file(file)) {
            add_call(*call, *at, reader, files[file]);
        }
    }
}

std::string quoted(StringRef text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return out;
}

}  // namespace

PreservedAnalyses NameAllocations::run(Module& module, ModuleAnalysisManager&) {
    Files files;
    for (const Function& function : module) {
        if (!function.isDeclaration() && function.getSubprogram() != nullptr &&
            !function.hasAvailableExternallyLinkage()) {
            add_function(function, files);
        }
    }
    std::string text;
    for (const auto& [file, lines] : files) {
        if (!lines.text.empty()) {
            text += "\t.asciz \"" + quoted(file) + "\\n" + quoted(llvm::join(lines.text, "\n")) +
                    "\"\n";
        }
    }
    if (!text.empty()) {
        module.appendModuleInlineAsm(std::string("\t.pushsection ") + kSection +
                                     ",\"MS\",@progbits,1\n" + text + "\t.popsection\n");
    }
    return PreservedAnalyses::all();
}

}  // namespace numascape::pass
