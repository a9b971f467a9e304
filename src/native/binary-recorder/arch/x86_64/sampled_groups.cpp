// SPDX-License-Identifier: Apache-2.0
#include "sampled_groups.h"

#include "recorder.h"
#include "scratch.h"

namespace numascape {
namespace {

// The program's value of the register with this number, as a slow path got it.
uint64_t value_of(const ProgramRegisters& registers, uint8_t number, bool accumulator_saved) {
    using Registers = ProgramRegisters;
    constexpr uint64_t Registers::* kInOrder[] = {
        &Registers::rax, &Registers::rcx, &Registers::rdx, &Registers::rbx,
        nullptr,         &Registers::rbp, &Registers::rsi, &Registers::rdi,
        &Registers::r8,  &Registers::r9,  &Registers::r10, &Registers::r11,
        &Registers::r12, &Registers::r13, &Registers::r14, &Registers::r15};
    if (number == 0 && accumulator_saved) {
        return reinterpret_cast<uint64_t>(read_thread_slot(spill_slot(Role::kFlags)));
    }
    if (kInOrder[number] == nullptr) {  // the stack pointer
        return reinterpret_cast<uint64_t>(read_thread_slot(ThreadSlot::kStackPointer));
    }
    return registers.*kInOrder[number];
}

}  // namespace

SeenParts seen_in(const GroupInfo& group, uint64_t low) {
    SeenParts seen;
    for (unsigned i = 0; i < group.accesses; ++i) {
        const GroupAccess& access = group.access[i];
        seen |= seen_parts(low, access.offset, access.bytes);
    }
    return seen;
}

SeenParts seen_in(const GroupInfo& group, const ProgramRegisters& registers,
                  uint64_t thread_pointer) {
    const GroupAddress& address = group.address;
    if (!address.known || (address.of_thread && thread_pointer == 0)) {
        return {};
    }
    auto low = static_cast<uint64_t>(address.distance) + (address.of_thread ? thread_pointer : 0);
    if (address.base != GroupAddress::kNone) {
        low += value_of(registers, address.base, address.accumulator_saved);
    }
    if (address.index != GroupAddress::kNone) {
        low += address.scale * value_of(registers, address.index, address.accumulator_saved);
    }
    return seen_in(group, low);
}

}  // namespace numascape
