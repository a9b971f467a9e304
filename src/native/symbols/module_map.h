// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call_notes.h"
#include "code_index.h"
#include "elf_file.h"
#include "function_symbols.h"
#include "module_cache.h"
#include "symbols.h"

namespace numascape::symbols {

// Which variables of a module: those that its process has once, by their addresses in it; or those
// that each thread has, by their distance from the start of the module's thread-local storage.
enum class Storage : std::uint8_t { kProcess, kThread };

// A module whose file could be opened, with what was read from it so far.
class LoadedModule {
  public:
    LoadedModule(Module description) : description_(std::move(description)) {}

    const Module& description() const { return description_; }
    // One past the last variable of the module. The last variables are in memory that is not mapped
    // from the file, so the description may not include it.
    std::uint64_t data_end() const { return data_end_; }
    // nullptr if the file is missing or is not an ELF file for this machine.
    Dwfl_Module* dwfl() const { return dwfl_; }
    // nullptr without debug information. `*bias` becomes run-time address - address in DWARF.
    Dwarf* dwarf(Dwarf_Addr* bias) const;
    // Both are read on first use; code() is nullptr without debug information.
    CodeIndex* code(Dwarf_Addr* bias);
    FunctionSymbols& functions();
    // What earlier recordings read from the file; nullptr if that is not kept.
    ModuleCache* cache() { return cache_.get(); }
    // The same for thread-local variables, which have a file of their own: most recordings need
    // none. Read on first use.
    ModuleCache* thread_cache();
    void save() const;
    // nullopt without thread-local variables.
    std::optional<ThreadSegment> thread_segment() const { return thread_segment_; }
    // Whether the module is mapped from its first segment on.
    bool is_whole() const { return is_whole_; }
    // Read on first use, from where the debug information is.
    const CallNotes& call_notes();

  private:
    friend class ModuleMap;
    Module description_;
    Dwfl_Module* dwfl_ = nullptr;
    std::uint64_t data_end_ = 0;
    std::optional<ThreadSegment> thread_segment_;
    bool is_whole_ = false;
    std::unique_ptr<ModuleCache> cache_;
    std::string thread_cache_folder_;
    std::string thread_cache_name_;
    std::unique_ptr<ModuleCache> thread_cache_;
    std::unique_ptr<CodeIndex> code_;
    bool code_was_read_ = false;
    std::unique_ptr<FunctionSymbols> functions_;
    std::unique_ptr<CallNotes> call_notes_;
};

// The recorded process' modules by address. Owns the libdwfl session.
class ModuleMap {
  public:
    // `cache` is the folder of module_cache.h; empty: nothing is kept.
    ModuleMap(std::vector<Module> modules, std::string cache);

    Dwfl* session() const { return session_.get(); }
    LoadedModule* find(std::uint64_t address);
    std::vector<std::unique_ptr<LoadedModule>>& modules() { return modules_; }

  private:
    void report(LoadedModule& module);

    std::string cache_folder_;
    std::vector<std::unique_ptr<LoadedModule>> modules_;  // by start, without overlap
    std::unique_ptr<Dwfl, decltype(&dwfl_end)> session_;
};

}  // namespace numascape::symbols
