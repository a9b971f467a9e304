// SPDX-License-Identifier: Apache-2.0
#include "module_map.h"

#include <algorithm>
#include <cstring>

#include "cache_name.h"
#include "debug_files.h"
#include "elf_file.h"

namespace numascape::symbols {
namespace {

// libdwfl's callback that opens a module's file.
int open_module_file(Dwfl_Module*, void** userdata, const char*, Dwarf_Addr, char** file_name,
                     Elf** elf) {
    const auto* module = static_cast<const LoadedModule*>(*userdata);
    if (module == nullptr) return -1;
    FileDescriptor file = open_regular_file(module->description().path);
    if (file.get() < 0) return -1;
    *elf = open_elf(file.get());
    if (*elf == nullptr) return -1;
    *file_name = strdup(module->description().path.c_str());
    return file.release();
}

const Dwfl_Callbacks kCallbacks = {
    .find_elf = open_module_file,
    .find_debuginfo = find_local_debug_file,
    .section_address = nullptr,
    .debuginfo_path = nullptr,
};

bool same_mapping(const Module& a, const Module& b) {
    return a.path == b.path && a.load_bias == b.load_bias;
}

// Joins the segments of each file, then drops what overlaps an earlier entry; sorted by start.
std::vector<Module> disjoint(const std::vector<Module>& given) {
    std::vector<Module> joined;
    for (const Module& module : given) {
        if (module.start >= module.end) continue;
        const auto same = std::find_if(joined.begin(), joined.end(),
                                       [&](const Module& m) { return same_mapping(m, module); });
        if (same == joined.end()) {
            joined.push_back(module);
        } else {
            same->start = std::min(same->start, module.start);
            same->end = std::max(same->end, module.end);
        }
    }
    std::vector<Module> kept;
    for (const Module& module : joined) {
        const auto after =
            std::upper_bound(kept.begin(), kept.end(), module.start,
                             [](std::uint64_t start, const Module& m) { return start < m.start; });
        const bool hits_next = after != kept.end() && after->start < module.end;
        const bool hits_previous = after != kept.begin() && std::prev(after)->end > module.start;
        if (!hits_next && !hits_previous) kept.insert(after, module);
    }
    return kept;
}

}  // namespace

Dwarf* LoadedModule::dwarf(Dwarf_Addr* bias) const {
    return dwfl_ == nullptr ? nullptr : dwfl_module_getdwarf(dwfl_, bias);
}

CodeIndex* LoadedModule::code(Dwarf_Addr* bias) {
    Dwarf* dwarf = this->dwarf(bias);
    if (!code_was_read_ && dwarf != nullptr) code_ = std::make_unique<CodeIndex>(dwarf);
    code_was_read_ = true;
    return code_.get();
}

FunctionSymbols& LoadedModule::functions() {
    if (!functions_) functions_ = std::make_unique<FunctionSymbols>(dwfl_);
    return *functions_;
}

ModuleCache* LoadedModule::thread_cache() {
    if (!thread_cache_ && !thread_cache_name_.empty()) {
        thread_cache_ = std::make_unique<ModuleCache>(thread_cache_folder_, thread_cache_name_);
    }
    return thread_cache_.get();
}

void LoadedModule::save() const {
    for (const auto* cache : {&cache_, &thread_cache_}) {
        if (*cache) (*cache)->save();
    }
}

const CallNotes& LoadedModule::call_notes() {
    if (!call_notes_) {
        Dwarf_Addr bias = 0;
        Dwarf* dwarf = this->dwarf(&bias);
        call_notes_ = std::make_unique<CallNotes>(dwarf == nullptr ? nullptr : dwarf_getelf(dwarf));
    }
    return *call_notes_;
}

ModuleMap::ModuleMap(std::vector<Module> modules, std::string cache)
    : cache_folder_(std::move(cache)), session_(dwfl_begin(&kCallbacks), &dwfl_end) {
    for (Module& module : disjoint(modules)) {
        modules_.push_back(std::make_unique<LoadedModule>(std::move(module)));
    }
    if (session_ == nullptr) return;
    dwfl_report_begin(session_.get());
    for (auto& module : modules_) report(*module);
    dwfl_report_end(session_.get(), nullptr, nullptr);
}

void ModuleMap::report(LoadedModule& module) {
    const Module& description = module.description_;
    const FileDescriptor file = open_regular_file(description.path);
    if (file.get() < 0) return;
    const std::unique_ptr<Elf, decltype(&elf_end)> elf(open_elf(file.get()), &elf_end);
    if (elf == nullptr) return;
    const std::optional<SegmentRange> segments = segment_range(elf.get());
    if (!segments) return;
    // libdwfl computes the load bias from the module's start and the first segment's address.
    const std::uint64_t start = description.load_bias + segments->start;
    if (start > description.start) return;
    Dwfl_Module* reported =
        dwfl_report_module(session_.get(), description.path.c_str(), start, description.end);
    if (reported == nullptr) return;
    void** userdata = nullptr;
    dwfl_module_info(reported, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    *userdata = &module;
    module.dwfl_ = reported;
    module.is_whole_ = start == description.start;
    if (!cache_folder_.empty()) {
        const std::string name = cache_name(elf.get(), file.get(), description.path);
        if (!name.empty()) {
            module.cache_ = std::make_unique<ModuleCache>(cache_folder_, name);
            module.thread_cache_folder_ = cache_folder_;
            module.thread_cache_name_ = name + "-thread";
        }
    }
    module.thread_segment_ = thread_segment(elf.get());
    module.data_end_ = std::max(description.end, description.load_bias + segments->end);
}

LoadedModule* ModuleMap::find(std::uint64_t address) {
    const auto after = std::upper_bound(
        modules_.begin(), modules_.end(), address,
        [](std::uint64_t value, const auto& m) { return value < m->description().start; });
    if (after == modules_.begin()) return nullptr;
    LoadedModule* module = std::prev(after)->get();
    return address < module->description().end ? module : nullptr;
}

}  // namespace numascape::symbols
