// SPDX-License-Identifier: Apache-2.0
#include "unwinder.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "frame_registers.h"

namespace numascape::symbols {
namespace {

// The one process and thread of the session; any number will do, as nothing reads /proc.
constexpr pid_t kThread = 1;

// One past the highest address of user code; no processor has a higher one.
constexpr std::uint64_t kAddressLimit = std::uint64_t{1} << 56;

}  // namespace

const Dwfl_Thread_Callbacks Unwinder::kCallbacks = {
    .next_thread = next_thread,
    .get_thread = get_thread,
    .memory_read = read_memory,
    .set_initial_registers = set_registers,
    .detach = nullptr,
    .thread_detach = nullptr,
};

pid_t Unwinder::next_thread(Dwfl*, void* self, void** thread) {
    if (*thread != nullptr) return 0;
    *thread = self;
    return kThread;
}

bool Unwinder::get_thread(Dwfl*, pid_t, void* self, void** thread) {
    *thread = self;
    return true;
}

bool Unwinder::read_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* self) {
    const auto& unwinder = *static_cast<const Unwinder*>(self);
    if (address < unwinder.stack_address_) return false;
    const std::uint64_t position = address - unwinder.stack_address_;
    if (position > unwinder.stack_.size()) return false;
    if (unwinder.stack_.size() - position < sizeof *result) return false;
    std::memcpy(result, unwinder.stack_.data() + position, sizeof *result);
    return true;
}

bool Unwinder::set_registers(Dwfl_Thread* thread, void* self) {
    const auto& unwinder = *static_cast<const Unwinder*>(self);
    return dwfl_thread_state_registers(thread, 0, kDwarfRegisters, unwinder.registers_.data());
}

int Unwinder::add_frame(Dwfl_Frame* frame, void* self) {
    auto& unwinder = *static_cast<Unwinder*>(self);
    Dwarf_Addr pc = 0;
    if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
    if (!unwinder.pcs_.empty() && (pc == 0 || pc >= kAddressLimit)) return DWARF_CB_ABORT;
    unwinder.pcs_.push_back(pc);
    return unwinder.pcs_.size() < unwinder.limit_ ? DWARF_CB_OK : DWARF_CB_ABORT;
}

bool Unwinder::is_described(Dwarf_Addr pc) const {
    Dwfl_Module* module = dwfl_addrmodule(session_, pc);
    if (module == nullptr) return false;
    for (const auto read : {dwfl_module_eh_cfi, dwfl_module_dwarf_cfi}) {
        Dwarf_Addr bias = 0;
        Dwarf_CFI* information = read(module, &bias);
        Dwarf_Frame* frame = nullptr;
        if (information == nullptr) continue;
        if (dwarf_cfi_addrframe(information, pc - bias, &frame) == 0) {
            std::free(frame);
            return true;
        }
    }
    return false;
}

// Steps from the start of a function to its caller. False if the first word of the stack is no
// return address.
bool Unwinder::step_to_caller() {
    Dwarf_Word caller = 0;
    if (!read_memory(nullptr, registers_[kStackPointer], &caller, this)) return false;
    if (caller == 0 || dwfl_addrmodule(session_, caller - 1) == nullptr) return false;
    registers_[kStackPointer] += sizeof caller;
    registers_.back() = caller - 1;  // in the call
    return true;
}

std::vector<std::uint64_t> Unwinder::unwind(const Registers& registers, std::uint64_t stack_address,
                                            std::span<const std::byte> stack, std::size_t limit) {
    if (limit == 0) return {};
    if (!attached_ && session_ != nullptr) {
        attached_ = dwfl_attach_state(session_, nullptr, kThread, &kCallbacks, this);
    }
    registers_ = registers;
    stack_address_ = stack_address;
    stack_ = stack;
    limit_ = limit;
    pcs_.clear();
    const bool skips =
        attached_ && limit > 1 && !is_described(registers.back()) && step_to_caller();
    if (skips) pcs_.push_back(registers.back());
    if (attached_) dwfl_getthread_frames(session_, kThread, add_frame, this);
    if (skips && pcs_.size() > 1) ++pcs_[1];
    if (pcs_.empty()) pcs_.push_back(registers.back());
    return std::exchange(pcs_, {});
}

}  // namespace numascape::symbols
