// SPDX-License-Identifier: Apache-2.0
#include "access_groups.h"

#include "access_kinds.h"
#include "instruction_facts.h"
#include "liveness.h"
#include "pages.h"
#include "symbolic_registers.h"

namespace numascape {
namespace {

// Longer groups cross page boundaries more often, and crossing is the slow path.
constexpr int64_t kMaxSpan = 256;
constexpr auto kPage = static_cast<int64_t>(kPageBytes);
constexpr int kOpenGroups = 24;  // how far back an access looks for its group

struct Address {
    Symbolic base{0, 0};
    Symbolic index{0, 0};
    int scale = 0;
    reg_id_t segment = DR_REG_NULL;
    int64_t offset = 0;
    bool is_static = false;
    bool plain = false;
    bool countable = true;
};

Address describe(opnd_t operand, const SymbolicRegisters& registers) {
    Address address;
    if (opnd_is_rel_addr(operand) || opnd_is_abs_addr(operand)) {
        if (!opnd_is_far_memory_reference(operand)) {
            address.offset =
                static_cast<int64_t>(reinterpret_cast<uint64_t>(opnd_get_addr(operand)));
            address.is_static = true;
        }
        return address;
    }
    const reg_id_t base = opnd_get_base(operand);
    const reg_id_t index = opnd_get_index(operand);
    uint32_t bit = 0;
    if (index != DR_REG_NULL && !reg_is_gpr(index)) {
        address.countable = false;  // a vector index: gathers and scatters are special accesses
        return address;
    }
    if (opnd_is_far_base_disp(operand)) {
        address.segment = opnd_get_segment(operand);
    }
    address.plain = address.segment == DR_REG_NULL;
    address.offset = opnd_get_disp(operand);
    if (base != DR_REG_NULL) {
        if (general_register(base, bit)) {
            address.base = registers.get(bit);
            address.offset += address.base.offset;
        } else {
            address.plain = false;  // 32-bit addressing
        }
    }
    if (index != DR_REG_NULL) {
        if (general_register(index, bit)) {
            address.scale = opnd_get_scale(operand);
            address.index = registers.get(bit);
            address.offset += address.index.offset * address.scale;
        } else {
            address.plain = false;
        }
    }
    return address;
}

bool fits(const AccessGroup& group, const Address& address, int64_t bytes) {
    if (!group.open || group.is_static != address.is_static ||
        group.base_value != address.base.value || group.index_value != address.index.value ||
        group.scale != address.scale || group.segment != address.segment) {
        return false;
    }
    const int64_t low = address.offset < group.low ? address.offset : group.low;
    const int64_t end = address.offset + bytes;
    const int64_t high = end > group.high ? end : group.high;
    if (address.is_static) {
        return low / kPage == (high - 1) / kPage;
    }
    return high - low <= kMaxSpan;
}

AccessGroup* find_group(BlockPlan& plan, const Address& address, int64_t bytes) {
    const uint32_t oldest = plan.groups > kOpenGroups ? plan.groups - kOpenGroups : 0;
    for (uint32_t i = plan.groups; i > oldest; --i) {
        if (fits(plan.group[i - 1], address, bytes)) {
            return &plan.group[i - 1];
        }
    }
    return nullptr;
}

void add_access(BlockPlan& plan, instr_t* instruction, opnd_t operand, bool write,
                const SymbolicRegisters& registers, bool count_stack) {
    if (plan.accesses == BlockPlan::kMaxAccesses || plan.groups == BlockPlan::kMaxGroups ||
        (!count_stack && opnd_is_base_disp(operand) && opnd_get_base(operand) == DR_REG_XSP)) {
        return;
    }
    const Address address = describe(operand, registers);
    if (!address.countable) {
        return;
    }
    uint32_t bytes = accessed_bytes(instruction, operand);
    bytes = bytes == 0 ? 1 : (bytes > kPage ? kPage : bytes);
    const bool groupable = address.plain || address.is_static;
    AccessGroup* group = groupable ? find_group(plan, address, bytes) : nullptr;
    if (group == nullptr) {
        group = &plan.group[plan.groups++];
        *group = {};
        group->first = instruction;
        group->at = plan.instructions - 1;
        group->operand = operand;
        group->first_offset = group->low = address.offset;
        group->high = address.offset + bytes;
        group->base_value = address.base.value;
        group->index_value = address.index.value;
        group->scale = address.scale;
        group->segment = address.segment;
        // With control flow inside (expanded loops), one access may run more often than another.
        group->open = groupable && plan.linear;
        group->is_static = address.is_static;
        group->plain = address.plain;
        group->first_access = group->last_access = kNoAccess;
    }
    const uint32_t slot = plan.accesses++;
    plan.access[slot] = {program_pc(plan, instruction), address.offset, bytes, kNoAccess, write};
    (group->last_access == kNoAccess ? group->first_access : plan.access[group->last_access].next) =
        slot;
    group->last_access = slot;
    group->low = address.offset < group->low ? address.offset : group->low;
    group->high = address.offset + bytes > group->high ? address.offset + bytes : group->high;
    (write ? group->writes : group->reads) += 1;
}

// enter with a level: copies the frame pointers of the functions around this one.
void add_frame_pointers(BlockPlan& plan, instr_t* enter, const SymbolicRegisters& registers,
                        bool count_stack) {
    const auto level = static_cast<int>(opnd_get_immed_int(instr_get_src(enter, 1)) & 31);
    const auto at = [](reg_id_t base, int offset) {
        return opnd_create_base_disp(base, DR_REG_NULL, 0, offset, OPSZ_8);
    };
    for (int i = 1; i <= level; ++i) {
        if (i < level) {
            add_access(plan, enter, at(DR_REG_XBP, -8 * i), false, registers, count_stack);
        }
        add_access(plan, enter, at(DR_REG_XSP, -8 * (i + 1)), true, registers, count_stack);
    }
}

void add_accesses(BlockPlan& plan, instr_t* i, const SymbolicRegisters& registers,
                  bool count_stack) {
    if (special_access(i) != SpecialAccess::kNone) {
        if (plan.specials < BlockPlan::kMaxSpecials) {
            plan.special[plan.specials++] = {i, plan.instructions - 1, {0, false}};
        }
        return;
    }
    for (int k = 0; k < instr_num_srcs(i); ++k) {
        if (opnd_is_memory_reference(instr_get_src(i, k))) {
            add_access(plan, i, instr_get_src(i, k), false, registers, count_stack);
        }
    }
    for (int k = 0; k < instr_num_dsts(i); ++k) {
        if (opnd_is_memory_reference(instr_get_dst(i, k))) {
            add_access(plan, i, instr_get_dst(i, k), !reads_destination(i), registers, count_stack);
        }
    }
    if (instr_get_opcode(i) == OP_enter) {
        add_frame_pointers(plan, i, registers, count_stack);
    }
}

bool is_linear(instrlist_t* block) {
    for (instr_t* i = instrlist_first_app(block); i != nullptr; i = instr_get_next_app(i)) {
        if (instr_is_cti(i) && instr_get_next_app(i) != nullptr) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool general_register(reg_id_t reg, uint32_t& bit) {
    if (reg < DR_REG_START_64 || reg > DR_REG_STOP_64) {
        return false;
    }
    bit = static_cast<uint32_t>(reg - DR_REG_START_64);
    return bit < 16;
}

RegisterSet registers_of(opnd_t operand) {
    RegisterSet set = 0;
    for (int i = 0; i < opnd_num_regs_used(operand); ++i) {
        const reg_id_t reg = opnd_get_reg_used(operand, i);
        uint32_t bit = 0;
        if (reg_is_gpr(reg) && general_register(reg_to_pointer_sized(reg), bit)) {
            set |= 1u << bit;
        }
    }
    return set;
}

uint64_t program_pc(const BlockPlan& plan, instr_t* instruction) {
    return reinterpret_cast<uint64_t>(instr_get_app_pc(instruction) + plan.distance);
}

void plan_block(instrlist_t* block, app_pc start, bool count_stack, BlockPlan& plan) {
    plan.groups = plan.accesses = plan.specials = plan.next_group = plan.next_special = 0;
    plan.instructions = 0;
    instr_t* first = instrlist_first_app(block);
    plan.distance = first == nullptr ? 0 : start - instr_get_app_pc(first);
    plan.linear = is_linear(block);
    SymbolicRegisters registers;
    for (instr_t* i = instrlist_first(block); i != nullptr; i = instr_get_next(i)) {
        if (plan.instructions == BlockPlan::kMaxInstructions) {
            break;
        }
        if (instr_is_label(i)) {
            continue;
        }
        plan.instruction[plan.instructions++] = i;
        if (instr_is_app(i) && touches_data(i)) {
            add_accesses(plan, i, registers, count_stack);
        }
        registers.step(i);
    }
    compute_liveness(plan);
}

}  // namespace numascape
