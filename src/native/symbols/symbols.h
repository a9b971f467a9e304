// SPDX-License-Identifier: Apache-2.0
//
// The meaning of the addresses of a recorded program: code addresses become source locations, data
// addresses become variables, and a copy of a stack becomes a call stack.
//
// Everything is read from the mapped ELF files and from debug information on this machine (in the
// file itself, or below /usr/lib/debug). Nothing is fetched from a network. Files may be missing,
// stripped, changed or damaged. The result is then a symbol, or a hexadecimal address, but never an
// error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frame_registers.h"

namespace numascape::symbols {

// An ELF file mapped by the recorded process. Addresses are those of that process.
struct Module {
    std::string path;
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // one past the last byte
    std::uint64_t load_bias =
        0;  // run-time address - address in the file (0 for a non-PIE program)
};

// One function active at a code address; several when functions were inlined there.
struct Frame {
    std::string function;      // demangled and without parameters; hexadecimal address when unknown
    std::string file;          // absolute where the compiler recorded it so; empty when unknown
    std::string module;        // path of the ELF file; empty outside every module
    std::uint32_t line = 0;    // 1-based, 0 when unknown
    std::uint32_t column = 0;  // 1-based in bytes, 0 when unknown
    std::uint64_t offset = 0;  // bytes from the start of the function that is not inlined
    bool inlined = false;      // part of the code of the next frame
    // Where the function that is not inlined begins; 0 when unknown, and for addresses other
    // than its first. `line` is that of the first instruction, which may be a later one.
    std::uint32_t entry_line = 0;
    // The notes of numascape-cc, numascape-c++ and numascape-fc about the calls here: lines "SLOT
    // KNOWS ARGUMENT NAME" with tabs between (llvm-pass/names.cpp). Empty from other compilers.
    std::string call_notes;
};

// A variable with static storage: its memory exists once per process and has a fixed address.
struct Global {
    std::string name;      // qualified: `ns::x`, Fortran `module::u`, COMMON `/block/ u`
    std::string file;      // of the declaration, from debug information; empty when unknown
    std::string module;    // path of the ELF file
    std::string function;  // for a function's static variable; empty otherwise
    std::uint64_t address = 0;
    std::uint64_t size = 0;  // bytes, never 0
    std::uint32_t line = 0;
    // Its first word is the address of its data: a pointer, an allocatable array of Fortran, a
    // std::vector or a std::unique_ptr. From debug information.
    bool points_to_data = false;
};

// The place from which an address in a frame is counted.
enum class FrameBase : std::uint8_t {
    kFrameAddress,  // DWARF's canonical frame address
    kFramePointer,
    kStackPointer,  // after the function has made its frame
    kWholeFrame,    // the variable is the whole addition to the frame
    kThreadPointer,
};

// A variable of at least a page in the frame of a function; or, with kThreadPointer, one of any
// size that each thread has.
struct FrameVariable {
    std::string name;
    std::string function;
    std::string file;
    std::string module;
    std::uint32_t line = 0;
    FrameBase base = FrameBase::kFrameAddress;
    std::int64_t offset = 0;
    std::uint64_t size = 0;  // bytes; 0 for kWholeFrame
};

class PlaceCollector;

// The general registers in the order of DWARF's numbers, the return address last.
using Registers = std::array<std::uint64_t, kDwarfRegisters>;

// Answers are cached, so that asking again for an address costs a hash lookup. Not thread-safe.
class Symbols {
  public:
    // If two modules overlap in memory, only the first one counts. Several entries of one file with
    // one load bias (segments) are one module. Keeps what is read from a file in the folder
    // `cache`, unless this is empty: see module_cache.h.
    explicit Symbols(std::vector<Module> modules, std::string cache = {});
    ~Symbols();
    Symbols(const Symbols&) = delete;
    Symbols& operator=(const Symbols&) = delete;

    // The functions active at `pc`, the innermost inlined one first; never empty. A return address
    // lies after its call: pass it minus 1. The reference is valid as long as this object.
    const std::vector<Frame>& frames(std::uint64_t pc);

    // Adds the places of all `pcs` (see places.h). These are many, and their frames are not kept.
    void add_places(std::span<const std::uint64_t> pcs, PlaceCollector& collector);

    // The call stack of a thread that was stopped with `registers` and whose stack memory from
    // `stack_address` upwards is copied in `stack`: where it stopped, then the return addresses, at
    // most `limit`. Uses the modules' call frame information (.eh_frame, .debug_frame), and frame
    // pointers in code without any. Ends early where these, or the copy, end.
    std::vector<std::uint64_t> unwind(const Registers& registers, std::uint64_t stack_address,
                                      std::span<const std::byte> stack, std::size_t limit = 64);

    // All variables with static storage of all modules in order of their addresses, without
    // overlap: only one of several aliases is there. Thread-local variables are left out.
    std::vector<Global> globals();

    // The variables for which the instruction at `pc` makes room on the stack. `of_data`: it is not
    // the function's frame, but an array whose size is not constant, or alloca. Empty without debug
    // information.
    std::vector<FrameVariable> frame_variables(std::uint64_t pc, bool of_data);

    // The thread-local variables of the executable with code or data at `address`, by offset and
    // without overlap. Those of libraries are at distances that only the dynamic linker knows.
    std::vector<FrameVariable> thread_variables(std::uint64_t address);

    // Writes what was read to the cache.
    void save() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace numascape::symbols
