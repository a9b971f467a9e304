// SPDX-License-Identifier: Apache-2.0
#include "known_registers.h"

namespace numascape {
namespace {

// Bits of RFLAGS.
constexpr uint64_t kCarry = 1, kZero = 1 << 6, kSign = 1 << 7, kOverflow = 1 << 11;
constexpr unsigned kAll = 64;

uint64_t low(uint64_t value, unsigned bits) {
    return bits >= kAll ? value : value & ((uint64_t{1} << bits) - 1);
}

bool sign_of(uint64_t value, unsigned bits) {
    return (value >> (bits - 1) & 1) != 0;
}

uint64_t sign_extended(uint64_t value, unsigned bits) {
    return bits < kAll && sign_of(value, bits) ? value | ~low(~uint64_t{0}, bits) : value;
}

unsigned bits_of(opnd_t operand) {
    return 8 * opnd_size_in_bytes(opnd_get_size(operand));
}

size_t number_of(reg_id_t name) {
    return static_cast<size_t>(reg_to_pointer_sized(name)) - DR_REG_RAX;
}

// ah, ch, dh, bh
bool is_second_byte(reg_id_t name) {
    return name >= DR_REG_AH && name <= DR_REG_BH;
}

bool is_sum(int opcode) {
    return opcode == OP_add || opcode == OP_inc;
}

bool is_difference(int opcode) {
    return opcode == OP_sub || opcode == OP_cmp || opcode == OP_dec || opcode == OP_neg;
}

}  // namespace

KnownRegisters::KnownRegisters(const SampledRegisters& sampled, Loads loads)
    : flags_{(sampled.flags & kCarry) != 0, (sampled.flags & kZero) != 0,
             (sampled.flags & kSign) != 0, (sampled.flags & kOverflow) != 0},
      loads_(std::move(loads)) {
    for (size_t i = 0; i < kGeneralRegisters; ++i) {
        general_[i] = sampled.general[i];
    }
}

std::optional<uint64_t> KnownRegisters::address(opnd_t operand) const {
    if (opnd_is_far_memory_reference(operand)) {
        const reg_id_t segment = opnd_get_segment(operand);
        if (segment == DR_SEG_FS || segment == DR_SEG_GS) {
            return std::nullopt;
        }
    }
    if (!opnd_is_base_disp(operand)) {
        return reinterpret_cast<uint64_t>(opnd_get_addr(operand));
    }
    const reg_id_t base = opnd_get_base(operand), index = opnd_get_index(operand);
    uint64_t sum = static_cast<uint64_t>(static_cast<int64_t>(opnd_get_disp(operand)));
    unsigned bits = kAll;
    for (const auto& [name, scale] : {std::pair{base, 1}, {index, opnd_get_scale(operand)}}) {
        if (name == DR_REG_NULL) {
            continue;
        }
        const Value value = reg_is_gpr(name) ? read(name) : std::nullopt;
        if (!value) {
            return std::nullopt;
        }
        bits = reg_is_32bit(name) ? 32 : bits;
        sum += *value * static_cast<uint64_t>(scale);
    }
    return low(sum, bits);
}

std::optional<bool> KnownRegisters::takes(int opcode) const {
    return opcode >= OP_jo_short && opcode <= OP_jnle_short ? holds(opcode - OP_jo_short)
           : opcode >= OP_jo && opcode <= OP_jnle           ? holds(opcode - OP_jo)
                                                            : std::nullopt;
}

// The order of the conditions is that of their numbers in instructions.
KnownRegisters::Flag KnownRegisters::holds(int condition) const {
    const auto& [carry, zero, sign, overflow] = flags_;
    Flag found;
    switch (condition / 2) {
        case 0:
            found = overflow;
            break;
        case 1:
            found = carry;
            break;
        case 2:
            found = zero;
            break;
        case 3:
            found = carry && zero ? Flag(*carry || *zero) : std::nullopt;
            break;
        case 4:
            found = sign;
            break;
        case 5:
            break;  // parity
        case 6:
            found = sign && overflow ? Flag(*sign != *overflow) : std::nullopt;
            break;
        default:
            found = sign && overflow && zero ? Flag(*zero || *sign != *overflow) : std::nullopt;
    }
    const bool negated = condition % 2 != 0;
    return found ? Flag(*found != negated) : std::nullopt;
}

void KnownRegisters::execute(instr_t* instruction) {
    if (!execute_on_stack(instruction)) {
        write_results(instruction, result_of(instruction));
    }
}

// Executes instructions that push or pop; returns false for others.
bool KnownRegisters::execute_on_stack(instr_t* instruction) {
    switch (instr_get_opcode(instruction)) {
        case OP_leave:
            general_[DR_REG_RSP - DR_REG_RAX] = general_[DR_REG_RBP - DR_REG_RAX];
            general_[DR_REG_RBP - DR_REG_RAX] = pop();
            return true;
        case OP_push:
        case OP_push_imm:
            push(value(instr_get_src(instruction, 0)));
            return true;
        case OP_call:
            push(std::nullopt);
            return true;
        case OP_pop: {
            const Value value = pop();
            const opnd_t destination = instr_get_dst(instruction, 0);
            if (opnd_is_reg(destination)) {
                write(opnd_get_reg(destination), value);
            } else {
                store(destination, value);
            }
            return true;
        }
        case OP_ret:
            pop();
            return true;
        default:
            return false;
    }
}

// Returns the value that the instruction writes to its destinations. Changes the flags.
KnownRegisters::Value KnownRegisters::result_of(instr_t* instruction) {
    const auto source = [&] { return value(instr_get_src(instruction, 0)); };
    switch (instr_get_opcode(instruction)) {
        case OP_mov_ld:
        case OP_mov_st:
        case OP_mov_imm:
        case OP_movzx:
            return source();
        case OP_movsx:
        case OP_movsxd:
        case OP_cwde: {
            const Value from = source();
            const unsigned bits = bits_of(instr_get_src(instruction, 0));
            return from ? Value(sign_extended(*from, bits)) : std::nullopt;
        }
        case OP_lea:
            return address(instr_get_src(instruction, 0));
        case OP_not: {
            const Value from = source();
            return from ? Value(~*from) : std::nullopt;
        }
        default:
            return computed(instruction);
    }
}

// The result of an instruction that changes the flags, or depends on them.
KnownRegisters::Value KnownRegisters::computed(instr_t* instruction) {
    const auto source = [&](unsigned i) { return value(instr_get_src(instruction, i)); };
    const auto bits = [&](unsigned i) { return bits_of(instr_get_src(instruction, i)); };
    switch (instr_get_opcode(instruction)) {
        case OP_add:
        case OP_sub:
        case OP_and:
        case OP_or:
        case OP_xor:
            return combine(instruction, source(1), source(0), bits(1));
        case OP_cmp:
        case OP_test:  // they have no destinations
            return combine(instruction, source(0), source(1), bits(0));
        case OP_inc:
        case OP_dec: {
            const Flag carry = flags_.carry;
            const Value result = combine(instruction, source(0), 1, bits(0));
            flags_.carry = carry;
            return result;
        }
        case OP_neg:
            return combine(instruction, 0, source(0), bits(0));
        case OP_shl:
        case OP_shr:
        case OP_sar:
            return shift(instruction);
        case OP_imul:
            flags_ = {};
            return product(instruction);
        default: {
            const Value result = conditional(instruction);
            const uint32_t flags = instr_get_arith_flags(instruction, DR_QUERY_INCLUDE_COND_DSTS);
            if ((flags & EFLAGS_WRITE_ARITH) != 0) {
                flags_ = {};
            }
            return result;
        }
    }
}

void KnownRegisters::write_results(instr_t* instruction, Value result) {
    for (int i = 0; i < instr_num_dsts(instruction); ++i) {
        if (opnd_is_memory_reference(instr_get_dst(instruction, i))) {
            store(instr_get_dst(instruction, i), result);
        }
    }
    for (int i = 0; i < instr_num_dsts(instruction); ++i) {
        const opnd_t destination = instr_get_dst(instruction, i);
        if (opnd_is_reg(destination) && reg_is_gpr(opnd_get_reg(destination))) {
            write(opnd_get_reg(destination), result);
        }
    }
}

// The result of setcc and cmovcc; unknown for other instructions.
KnownRegisters::Value KnownRegisters::conditional(instr_t* instruction) const {
    const int opcode = instr_get_opcode(instruction);
    if (opcode >= OP_seto && opcode <= OP_setnle) {
        const Flag sets = holds(opcode - OP_seto);
        return sets ? Value(*sets ? 1 : 0) : std::nullopt;
    }
    if (opcode >= OP_cmovo && opcode <= OP_cmovnle) {
        const Flag moves = holds(opcode - OP_cmovo);
        const opnd_t from =
            moves.value_or(true) ? instr_get_src(instruction, 0) : instr_get_dst(instruction, 0);
        return moves ? value(from) : std::nullopt;
    }
    return std::nullopt;
}

// The result of a multiplication with one destination, which is as wide as the operands.
KnownRegisters::Value KnownRegisters::product(instr_t* instruction) const {
    const Value a = value(instr_get_src(instruction, 0)), b = value(instr_get_src(instruction, 1));
    return instr_num_dsts(instruction) == 1 && a && b ? Value(*a * *b) : std::nullopt;
}

KnownRegisters::Value KnownRegisters::value(opnd_t operand) const {
    if (opnd_is_immed_int(operand)) {
        return static_cast<uint64_t>(opnd_get_immed_int(operand));
    }
    if (opnd_is_reg(operand) && reg_is_gpr(opnd_get_reg(operand))) {
        return read(opnd_get_reg(operand));
    }
    if (opnd_is_memory_reference(operand)) {
        const Value from = address(operand);
        return from ? load(*from, opnd_size_in_bytes(opnd_get_size(operand))) : std::nullopt;
    }
    return std::nullopt;
}

KnownRegisters::Value KnownRegisters::load(uint64_t address, size_t bytes) const {
    for (auto stored = stored_.rbegin(); stored != stored_.rend(); ++stored) {
        if (stored->address < address + bytes && address < stored->address + stored->bytes) {
            const bool same = stored->address == address && stored->bytes == bytes;
            return same ? stored->value : std::nullopt;
        }
    }
    return loads_ ? loads_(address, bytes) : std::nullopt;
}

void KnownRegisters::store(opnd_t operand, Value value) {
    const size_t bytes = opnd_size_in_bytes(opnd_get_size(operand));
    if (const Value to = address(operand)) {
        stored_.push_back(
            {*to, bytes,
             value ? Value(low(*value, 8 * static_cast<unsigned>(bytes))) : std::nullopt});
    } else {
        loads_ = nullptr;  // the store may have changed any memory
        stored_.clear();
    }
}

void KnownRegisters::push(Value value) {
    Value& pointer = general_[DR_REG_RSP - DR_REG_RAX];
    if (pointer) {
        pointer = *pointer - 8;
        stored_.push_back({*pointer, 8, value});
    }
}

KnownRegisters::Value KnownRegisters::pop() {
    Value& pointer = general_[DR_REG_RSP - DR_REG_RAX];
    const Value value = pointer ? load(*pointer, 8) : std::nullopt;
    if (pointer) pointer = *pointer + 8;
    return value;
}

KnownRegisters::Value KnownRegisters::read(reg_id_t name) const {
    const Value whole = general_[number_of(name)];
    if (!whole || is_second_byte(name)) {
        return std::nullopt;
    }
    return low(*whole, bits_of(opnd_create_reg(name)));
}

void KnownRegisters::write(reg_id_t name, Value value) {
    Value& whole = general_[number_of(name)];
    const unsigned bits = bits_of(opnd_create_reg(name));
    if (value && bits >= 32) {
        whole = low(*value, bits);  // 32 bits clear the others
    } else if (value && whole && !is_second_byte(name)) {
        whole = (*whole & ~low(~uint64_t{0}, bits)) | low(*value, bits);
    } else {
        whole = std::nullopt;
    }
}

KnownRegisters::Value KnownRegisters::combine(instr_t* instruction, Value a, Value b,
                                              unsigned bits) {
    const int opcode = instr_get_opcode(instruction);
    const bool clears = (opcode == OP_xor || opcode == OP_sub) &&
                        opnd_same(instr_get_src(instruction, 0), instr_get_src(instruction, 1));
    if (clears) {
        a = b = 0;
    }
    if (!a || !b) {
        flags_ = {};
        return std::nullopt;
    }
    const uint64_t left = low(*a, bits), right = low(*b, bits);
    uint64_t result = 0;
    flags_.carry = flags_.overflow = false;
    if (is_sum(opcode)) {
        result = low(left + right, bits);
        flags_.carry = result < left;
        flags_.overflow = sign_of((left ^ result) & (right ^ result), bits);
    } else if (is_difference(opcode)) {
        result = low(left - right, bits);
        flags_.carry = left < right;
        flags_.overflow = sign_of((left ^ right) & (left ^ result), bits);
    } else if (opcode == OP_or) {
        result = left | right;
    } else if (opcode == OP_xor) {
        result = left ^ right;
    } else {
        result = left & right;
    }
    flags_.zero = result == 0;
    flags_.sign = sign_of(result, bits);
    return result;
}

KnownRegisters::Value KnownRegisters::shift(instr_t* instruction) {
    flags_ = {};
    const opnd_t operand = instr_get_src(instruction, 1);
    const Value by = value(instr_get_src(instruction, 0)), from = value(operand);
    const unsigned bits = bits_of(operand);
    if (!by || !from) {
        return std::nullopt;
    }
    const uint64_t places = *by & (bits == kAll ? 63 : 31);
    switch (instr_get_opcode(instruction)) {
        case OP_shl:
            return low(*from << places, bits);
        case OP_shr:
            return *from >> places;
        default:
            return low(
                static_cast<uint64_t>(static_cast<int64_t>(sign_extended(*from, bits)) >> places),
                bits);
    }
}

}  // namespace numascape
