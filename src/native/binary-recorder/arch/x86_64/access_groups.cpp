// SPDX-License-Identifier: Apache-2.0
#include "access_groups.h"

#include "instruction_facts.h"
#include "liveness.h"
#include "masked_operands.h"
#include "pages.h"

namespace numascape {
namespace {

// Longer groups cross page boundaries more often, and crossing is the slow path.
constexpr int64_t kMaxSpan = 256;
constexpr auto kPage = static_cast<int64_t>(kPageBytes);
constexpr int kOpenGroups = 24;  // how far back an access looks for its group

// A register's content as `value + offset`; equal values are equal numbers.
struct Symbolic {
    uint32_t value;
    int64_t offset;
};

class Registers {
  public:
    Registers() {
        for (Symbolic& s : state_) {
            s = {next_++, 0};
        }
    }
    Symbolic get(uint32_t bit) const { return state_[bit]; }
    void step(instr_t* instruction);

  private:
    bool follow(instr_t* instruction);
    void forget(reg_id_t reg) {
        uint32_t bit = 0;
        if (reg_is_gpr(reg) && general_register(reg_to_pointer_sized(reg), bit)) {
            state_[bit] = {next_++, 0};
        }
    }

    Symbolic state_[16];
    uint32_t next_ = 1;
};

bool as_general(opnd_t operand, uint32_t& bit) {
    return opnd_is_reg(operand) && general_register(opnd_get_reg(operand), bit);
}

// Instructions whose effect on addresses is an addition or a copy. True when fully handled.
bool Registers::follow(instr_t* instruction) {
    uint32_t to = 0;
    uint32_t from = 0;
    switch (instr_get_opcode(instruction)) {
        case OP_add:
        case OP_sub: {
            const opnd_t amount = instr_get_src(instruction, 0);
            if (!as_general(instr_get_dst(instruction, 0), to) || !opnd_is_immed_int(amount)) {
                return false;
            }
            const int64_t value = opnd_get_immed_int(amount);
            state_[to].offset += instr_get_opcode(instruction) == OP_add ? value : -value;
            return true;
        }
        case OP_inc:
        case OP_dec:
            if (!as_general(instr_get_dst(instruction, 0), to)) {
                return false;
            }
            state_[to].offset += instr_get_opcode(instruction) == OP_inc ? 1 : -1;
            return true;
        case OP_lea: {
            const opnd_t address = instr_get_src(instruction, 0);
            if (!as_general(instr_get_dst(instruction, 0), to) ||
                !opnd_is_near_base_disp(address) || opnd_get_index(address) != DR_REG_NULL ||
                !general_register(opnd_get_base(address), from)) {
                return false;
            }
            state_[to] = {state_[from].value, state_[from].offset + opnd_get_disp(address)};
            return true;
        }
        case OP_mov_ld:
        case OP_mov_st:
            if (!as_general(instr_get_dst(instruction, 0), to) ||
                !as_general(instr_get_src(instruction, 0), from)) {
                return false;
            }
            state_[to] = state_[from];
            return true;
        case OP_push:
        case OP_push_imm:
        case OP_call:
        case OP_call_ind:
            if (opnd_get_size(instr_get_dst(instruction, 1)) != OPSZ_8) {
                return false;
            }
            general_register(DR_REG_XSP, to);
            state_[to].offset -= 8;
            return true;
        case OP_pop:
            if (!as_general(instr_get_dst(instruction, 0), to)) {
                return false;
            }
            general_register(DR_REG_XSP, from);
            state_[from].offset += 8;
            forget(opnd_get_reg(instr_get_dst(instruction, 0)));
            return true;
        default:
            return false;
    }
}

void Registers::step(instr_t* instruction) {
    if (instr_is_label(instruction) || follow(instruction)) {
        return;
    }
    for (int i = 0; i < instr_num_dsts(instruction); ++i) {
        const opnd_t dst = instr_get_dst(instruction, i);
        if (opnd_is_reg(dst)) {
            forget(opnd_get_reg(dst));
        }
    }
}

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

Address describe(opnd_t operand, const Registers& registers) {
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
        address.countable = false;  // vector index: gathers and scatters were expanded before
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
                const Registers& registers, bool count_stack) {
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
    plan.access[slot] = {reinterpret_cast<uint64_t>(instr_get_app_pc(instruction)), address.offset,
                         bytes, kNoAccess, write};
    (group->last_access == kNoAccess ? group->first_access : plan.access[group->last_access].next) =
        slot;
    group->last_access = slot;
    group->low = address.offset < group->low ? address.offset : group->low;
    group->high = address.offset + bytes > group->high ? address.offset + bytes : group->high;
    (write ? group->writes : group->reads) += 1;
}

// enter with a level: copies the frame pointers of the functions around this one.
void add_frame_pointers(BlockPlan& plan, instr_t* enter, const Registers& registers,
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

void add_accesses(BlockPlan& plan, instr_t* i, const Registers& registers, bool count_stack) {
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

bool is_repeated_block_string(int opcode) {
    return opcode == OP_rep_movs || opcode == OP_rep_stos || opcode == OP_rep_lods;
}

// bt and its kin: a bit number from a register may reach beyond the memory operand.
bool tests_bit_by_register(instr_t* instruction) {
    const int opcode = instr_get_opcode(instruction);
    return (opcode == OP_bt || opcode == OP_bts || opcode == OP_btr || opcode == OP_btc) &&
           opnd_is_reg(bit_number(instruction));
}

// xsave and its kin: how much they access, registers say.
bool saves_state(int opcode) {
    switch (opcode) {
        case OP_xsave32:
        case OP_xsave64:
        case OP_xsaveopt32:
        case OP_xsaveopt64:
        case OP_xsavec32:
        case OP_xsavec64:
        case OP_xrstor32:
        case OP_xrstor64:
            return true;
        default:
            return false;
    }
}

// A gather or scatter that only fills a cache.
bool prefetches_lanes(int opcode) {
    switch (opcode) {
        case OP_vgatherpf0dpd:
        case OP_vgatherpf0dps:
        case OP_vgatherpf0qpd:
        case OP_vgatherpf0qps:
        case OP_vgatherpf1dpd:
        case OP_vgatherpf1dps:
        case OP_vgatherpf1qpd:
        case OP_vgatherpf1qps:
        case OP_vscatterpf0dpd:
        case OP_vscatterpf0dps:
        case OP_vscatterpf0qpd:
        case OP_vscatterpf0qps:
        case OP_vscatterpf1dpd:
        case OP_vscatterpf1dps:
        case OP_vscatterpf1qpd:
        case OP_vscatterpf1qps:
            return true;
        default:
            return false;
    }
}

bool touches_data(instr_t* instruction) {
    const int opcode = instr_get_opcode(instruction);
    return (instr_reads_memory(instruction) || instr_writes_memory(instruction)) &&
           !instr_is_prefetch(instruction) && !prefetches_lanes(opcode) && opcode != OP_clflush &&
           opcode != OP_clflushopt && opcode != OP_clwb && opcode != OP_cldemote;
}

}  // namespace

opnd_t bit_number(instr_t* instruction) {
    const opnd_t first = instr_get_src(instruction, 0);
    return opnd_is_memory_reference(first) ? instr_get_src(instruction, 1) : first;
}

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

SpecialAccess special_access(instr_t* instruction) {
    const int opcode = instr_get_opcode(instruction);
    if (is_repeated_block_string(opcode)) {
        return SpecialAccess::kRepeatedString;
    }
    if (tests_bit_by_register(instruction)) {
        return SpecialAccess::kBitTest;
    }
    if (instr_is_gather(instruction) || instr_is_scatter(instruction)) {
        return SpecialAccess::kGathered;
    }
    if (is_masked(instruction)) {
        return SpecialAccess::kMasked;
    }
    if (saves_state(opcode)) {
        return SpecialAccess::kSavedState;
    }
    return SpecialAccess::kNone;
}

void plan_block(instrlist_t* block, bool count_stack, BlockPlan& plan) {
    plan.groups = plan.accesses = plan.specials = plan.next_group = plan.next_special = 0;
    plan.instructions = 0;
    plan.linear = is_linear(block);
    Registers registers;
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
