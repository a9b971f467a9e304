// SPDX-License-Identifier: Apache-2.0
#include "sites.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Support/Path.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace numascape::pass {
namespace {

using namespace llvm;

std::string name_of(const DISubprogram* function) {
    if (function == nullptr) {
        return "";
    }
    return std::string(function->getLinkageName().empty() ? function->getName()
                                                          : function->getLinkageName());
}

}  // namespace

std::string source_file(const DILocation& location) {
    SmallString<256> path(location.getFilename());
    if (!sys::path::is_absolute(path) && !location.getDirectory().empty()) {
        SmallString<256> whole(location.getDirectory());
        sys::path::append(whole, path);
        path = whole;
    }
    sys::path::remove_dots(path, true);
    return std::string(path);
}

bool is_library_file(StringRef file) {
    return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
           file.contains("/c++/");
}

GlobalVariable* SiteWriter::names(const std::string& function, const std::string& file) {
    const std::string text = function + "\n" + file;
    GlobalVariable*& known = names_[text];
    if (known == nullptr) {
        Constant* content = ConstantDataArray::getString(module_.getContext(), text, true);
        known = new GlobalVariable(module_, content->getType(), true, GlobalValue::PrivateLinkage,
                                   content, "numascape.names");
    }
    return known;
}

SiteWriter::Entry SiteWriter::entry_of(const Access& access) {
    const DILocation* location = access.instruction->getDebugLoc().get();
    const DILocation* shown = location;
    while (shown != nullptr && is_library_file(source_file(*shown))) {
        shown = shown->getInlinedAt();
    }
    shown = shown != nullptr ? shown : location;
    if (shown == nullptr) {
        const Function* function = access.instruction->getFunction();
        const std::string name = function->getSubprogram() != nullptr
                                     ? name_of(function->getSubprogram())
                                     : std::string(function->getName());
        return {names(name, ""), 0, access.reads, access.writes, 0};
    }
    return {names(name_of(shown->getScope()->getSubprogram()), source_file(*shown)),
            shown->getLine(), access.reads, access.writes, 0};
}

GlobalVariable* SiteWriter::write(ArrayRef<Entry> entries) {
    LLVMContext& context = module_.getContext();
    Type* const bits16 = Type::getInt16Ty(context);
    Type* const bits32 = Type::getInt32Ty(context);
    Type* const bits64 = Type::getInt64Ty(context);
    auto* entry_type = StructType::get(context, {bits32, bits32, bits16, bits16, bits16, bits16});
    auto* type = ArrayType::get(entry_type, entries.size());
    auto* out = new GlobalVariable(module_, type, true, GlobalValue::PrivateLinkage, nullptr,
                                   "numascape.sites");
    SmallVector<Constant*> values;
    for (const Entry& entry : entries) {
        Constant* here = ConstantExpr::getInBoundsGetElementPtr(
            type, out,
            ArrayRef<Constant*>{ConstantInt::get(bits64, 0),
                                ConstantInt::get(bits64, values.size())});
        Constant* distance = ConstantExpr::getSub(ConstantExpr::getPtrToInt(entry.names, bits64),
                                                  ConstantExpr::getPtrToInt(here, bits64));
        values.push_back(ConstantStruct::get(
            entry_type,
            {ConstantExpr::getTrunc(distance, bits32), ConstantInt::get(bits32, entry.line),
             ConstantInt::get(bits16, entry.reads), ConstantInt::get(bits16, entry.writes),
             ConstantInt::get(bits16, entry.entries), ConstantInt::get(bits16, 0)}));
    }
    out->setInitializer(ConstantArray::get(type, values));
    out->setSection(kSiteSection);
    out->setAlignment(Align(sizeof(Site)));
    return out;
}

GlobalVariable* SiteWriter::block(ArrayRef<Access> accesses) {
    SmallVector<Entry> entries;
    for (const Access& access : accesses) {
        entries.push_back(entry_of(access));
    }
    entries.front().entries = static_cast<uint16_t>(entries.size());
    return write(entries);
}

}  // namespace numascape::pass
