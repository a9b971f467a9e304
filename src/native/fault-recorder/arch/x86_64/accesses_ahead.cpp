// SPDX-License-Identifier: Apache-2.0
#include "accesses_ahead.h"

#include <algorithm>

#include "known_registers.h"

namespace numascape {
namespace {

constexpr size_t kMaxReturns = 16;

// Whether execution continues in the kernel, or at an unknown place.
bool leaves_the_code(instr_t* instruction) {
    return instr_is_syscall(instruction) || instr_is_interrupt(instruction) ||
           instr_is_undefined(instruction) || instr_get_opcode(instruction) == OP_hlt;
}

uint64_t target_of(instr_t* instruction) {
    return reinterpret_cast<uint64_t>(opnd_get_pc(instr_get_target(instruction)));
}

}  // namespace

const std::vector<AccessAhead>& AccessesAhead::of(pid_t process, const SampledRegisters& sampled,
                                                  bool with_memory) {
    found_.clear();
    const auto load = [&](uint64_t address, size_t bytes) {
        return memory_.number(process, address, bytes);
    };
    KnownRegisters registers(sampled, with_memory ? KnownRegisters::Loads(load) : nullptr);
    std::vector<uint64_t> returns;
    uint64_t pc = sampled.pc;
    bool is_assumed = false;
    for (int i = 0; i < kMaxInstructions; ++i) {
        Decoded* decoded = decode(process, pc);
        if (decoded == nullptr || leaves_the_code(decoded->instruction)) {
            break;
        }
        instr_t* instruction = decoded->instruction;
        add_accesses(*decoded, pc, registers, is_assumed);
        uint64_t next = pc + decoded->length;
        if (instr_is_cbr(instruction)) {
            const uint64_t target = target_of(instruction);
            // If the condition is unknown, the branch is assumed to be taken if it closes a loop
            // around the sample, because most loops go on.
            const bool loops = target <= sampled.pc && sampled.pc <= pc;
            const std::optional<bool> taken = registers.takes(instr_get_opcode(instruction));
            if (!taken && !loops) {
                break;
            }
            is_assumed = is_assumed || !taken;
            next = taken.value_or(true) ? target : next;
        } else if (instr_is_call_direct(instruction) && returns.size() < kMaxReturns) {
            returns.push_back(next);
            next = target_of(instruction);
        } else if (instr_is_return(instruction) && !returns.empty()) {
            next = returns.back();
            returns.pop_back();
        } else if (instr_is_ubr(instruction)) {
            next = target_of(instruction);
        } else if (instr_is_cti(instruction) || instr_is_rep_string_op(instruction)) {
            break;  // a repeated string instruction is a loop of its own
        }
        registers.execute(instruction);
        pc = next;
        if (pc == sampled.pc) {
            break;
        }
    }
    return found_;
}

AccessesAhead::Decoded* AccessesAhead::decode(pid_t process, uint64_t pc) {
    const std::span<const std::byte> bytes = memory_.at(process, pc);
    if (bytes.empty()) {
        return nullptr;
    }
    if (decoded_.size() > kMaxDecoded) {
        decoded_.clear();
    }
    Decoded& decoded = decoded_[pc];
    const bool same = decoded.instruction != nullptr &&
                      std::equal(bytes.begin(), bytes.end(), decoded.bytes.begin());
    if (!same) {
        decoded.bytes = {};
        std::copy(bytes.begin(), bytes.end(), decoded.bytes.begin());
        instr_noalloc_init(GLOBAL_DCONTEXT, &decoded.room);
        decoded.instruction = instr_from_noalloc(&decoded.room);
        byte* copy = reinterpret_cast<byte*>(decoded.bytes.data());
        const byte* end = decode_from_copy(GLOBAL_DCONTEXT, copy, reinterpret_cast<byte*>(pc),
                                           decoded.instruction);
        const size_t length = end == nullptr ? 0 : static_cast<size_t>(end - copy);
        decoded.length = length <= bytes.size() ? length : 0;
    }
    return decoded.length == 0 ? nullptr : &decoded;
}

void AccessesAhead::add_accesses(Decoded& decoded, uint64_t pc, const KnownRegisters& registers,
                                 bool is_assumed) {
    instr_t* instruction = decoded.instruction;
    if (instr_is_prefetch(instruction)) {
        return;
    }
    const bool reads = instr_reads_memory(instruction), writes = instr_writes_memory(instruction);
    for (int i = 0; reads && i < instr_num_srcs(instruction); ++i) {
        const opnd_t operand = instr_get_src(instruction, i);
        if (opnd_is_memory_reference(operand)) {
            found_.push_back({pc, registers.address(operand), false, is_assumed});
        }
    }
    for (int i = 0; writes && i < instr_num_dsts(instruction); ++i) {
        const opnd_t operand = instr_get_dst(instruction, i);
        if (opnd_is_memory_reference(operand)) {
            found_.push_back({pc, registers.address(operand), true, is_assumed});
        }
    }
}

}  // namespace numascape
