// SPDX-License-Identifier: Apache-2.0
#include "masked_operands.h"

#include <string_view>

namespace numascape {
namespace {

std::string_view name_of(instr_t* instruction) {
    return decode_opcode_name(instr_get_opcode(instruction));
}

bool has(std::string_view name, std::string_view part) {
    return name.find(part) != std::string_view::npos;
}

bool begins_with_any(std::string_view name, const std::string_view* first, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (name.starts_with(first[i])) {
            return true;
        }
    }
    return false;
}

// Shuffles and similar instructions: each lane of the result may need any part of the operand. They
// access all of it with any mask (exception classes E4NF and E6NF in the manuals).
bool accesses_whole_operand(std::string_view name) {
    constexpr std::string_view kWhole[] = {
        "valign",   "vcvtne2ps2bf16", "vdbpsadbw", "vextract",       "vgf2p8affine", "vinsert",
        "vmovddup", "vmovshdup",      "vmovsldup", "vpack",          "vpalignr",     "vpconflict",
        "vperm",    "vpmaddubsw",     "vpmaddwd",  "vpmultishiftqb", "vpshufb",      "vpshufd",
        "vpshufhw", "vpshuflw",       "vpunpck",   "vshuf",          "vunpck"};
    return begins_with_any(name, kWhole, sizeof kWhole / sizeof *kWhole) && name != "vpshufbitqmb";
}

// vpsllw and similar instructions, if the number of bits is in memory and not in the instruction.
bool shifts_by_operand(instr_t* instruction, std::string_view name) {
    constexpr std::string_view kShifts[] = {"vpsllw", "vpslld", "vpsllq", "vpsraw", "vpsrad",
                                            "vpsraq", "vpsrlw", "vpsrld", "vpsrlq"};
    for (const std::string_view shift : kShifts) {
        if (name == shift) {
            for (int i = 0; i < instr_num_srcs(instruction); ++i) {
                if (opnd_is_immed_int(instr_get_src(instruction, i))) {
                    return false;
                }
            }
            return true;
        }
    }
    return false;
}

bool has_mask_register(instr_t* instruction) {
    if (instr_num_srcs(instruction) < 2 || !opnd_is_reg(instr_get_src(instruction, 0))) {
        return false;
    }
    const reg_id_t mask = opnd_get_reg(instr_get_src(instruction, 0));
    return mask > DR_REG_K0 && mask <= DR_REG_K7;
}

// Moves of a mask register itself (kmovq k1, [m]) are plain accesses.
bool moves_mask(int opcode) {
    return opcode == OP_kmovb || opcode == OP_kmovw || opcode == OP_kmovd || opcode == OP_kmovq;
}

// The third byte behind the prefix 62. It says how long the vectors are, and whether the operand is
// a broadcast.
uint8_t evex_byte(instr_t* instruction) {
    const byte* at = instr_get_app_pc(instruction);
    while (*at != 0x62) {
        ++at;  // segment and address size
    }
    return at[3];
}

uint32_t bytes_by_letter(char letter) {
    switch (letter) {
        case 'q':
            return 8;
        case 'd':
            return 4;
        case 'w':
            return 2;
        default:
            return 1;
    }
}

// The size of a type in the name of vcvtps2pd and similar instructions: pd, ps, dq, udq, qq, uqq,
// ph or bf16.
uint32_t bytes_by_type(std::string_view type) {
    if (type.starts_with("pd") || type.starts_with("qq") || type.starts_with("uqq")) {
        return 8;
    }
    return type.starts_with("ph") || type.starts_with("bf") ? 2 : 4;
}

struct ElementBytes {
    uint32_t in_memory;
    uint32_t lane;  // of the wider of the two types
};

ElementBytes of_conversion(std::string_view name, bool writes) {
    std::string_view types = name;
    types.remove_prefix(name.starts_with("vcvtt") ? 5 : 4);
    if (types.starts_with("ne")) {
        types.remove_prefix(2);
    }
    const uint32_t from = bytes_by_type(types);
    types.remove_prefix(types.find('2') + 1);
    const uint32_t to = bytes_by_type(types);
    return {writes ? to : from, from > to ? from : to};
}

// The last two letters of the name are types. vpmovqb writes elements of the second type to memory;
// vpmovzxbq reads elements of the first type.
ElementBytes of_narrow_move(std::string_view name) {
    const bool widens = has(name, "sx") || has(name, "zx");
    const uint32_t first = bytes_by_letter(name[name.size() - 2]);
    const uint32_t second = bytes_by_letter(name[name.size() - 1]);
    return {widens ? first : second, first > second ? first : second};
}

uint32_t element_bytes(std::string_view name) {
    const auto ends = [&](std::string_view end) { return name.ends_with(end); };
    if (name == "vpcmpd") {
        return 4;  // compares doublewords; all others with "pd" at the end have doubles
    }
    if (has(name, "64x") || ends("64") || ends("q") || ends("pd") || ends("52huq")) {
        return 8;
    }
    if (ends("sd") && !name.starts_with("vp")) {
        return 8;
    }
    if (ends("16") && !ends("bf16ps")) {
        return 2;
    }
    if (has(name, "32x") || ends("32") || ends("d") || ends("ps") || ends("ss") || ends("ds")) {
        return 4;
    }
    return ends("w") ? 2 : 1;
}

bool is_scalar(std::string_view name) {
    return (name.ends_with("ss") || name.ends_with("sd")) && !name.starts_with("vp") &&
           !has(name, "broadcast");
}

bool is_conversion(std::string_view name) {
    return name.starts_with("vcvt");
}

bool is_narrow_move(std::string_view name) {
    constexpr std::string_view kMoves[] = {"vpmovq", "vpmovd",  "vpmovw",
                                           "vpmovs", "vpmovus", "vpmovz"};
    return begins_with_any(name, kMoves, sizeof kMoves / sizeof *kMoves);
}

bool writes_memory(instr_t* instruction) {
    return opnd_is_memory_reference(instr_get_dst(instruction, 0));
}

}  // namespace

bool is_masked_by_bytes(int opcode) {
    return opcode == OP_maskmovdqu || opcode == OP_vmaskmovdqu || opcode == OP_maskmovq;
}

bool is_masked_by_vector(int opcode) {
    switch (opcode) {
        case OP_vmaskmovps:
        case OP_vmaskmovpd:
        case OP_vpmaskmovd:
        case OP_vpmaskmovq:
            return true;
        default:
            return is_masked_by_bytes(opcode);
    }
}

bool is_masked(instr_t* instruction) {
    const int opcode = instr_get_opcode(instruction);
    if (is_masked_by_vector(opcode)) {
        return true;
    }
    if (!has_mask_register(instruction) || moves_mask(opcode)) {
        return false;
    }
    const std::string_view name = name_of(instruction);
    return !accesses_whole_operand(name) && !shifts_by_operand(instruction, name);
}

MaskedLanes masked_lanes(instr_t* instruction, uint32_t operand_bytes) {
    const std::string_view name = name_of(instruction);
    const int opcode = instr_get_opcode(instruction);
    if (is_masked_by_vector(opcode)) {
        const uint32_t element = is_masked_by_bytes(opcode) ? 1 : element_bytes(name);
        return {element, operand_bytes / element, operand_bytes, false};
    }
    const uint8_t flags = evex_byte(instruction);
    const bool broadcast = (flags & 0x10) != 0;
    const uint32_t vector = 16u << (flags >> 5 & 3);
    if (is_scalar(name)) {
        return {operand_bytes, 1, operand_bytes, false};
    }
    ElementBytes bytes{element_bytes(name), element_bytes(name)};
    if (is_conversion(name)) {
        bytes = of_conversion(name, writes_memory(instruction));
    } else if (is_narrow_move(name)) {
        bytes = of_narrow_move(name);
    }
    const uint32_t lanes = vector / bytes.lane;
    if (has(name, "expand") || has(name, "compress")) {
        return {bytes.in_memory, lanes, vector, true};
    }
    const uint32_t in_memory = broadcast ? bytes.in_memory : operand_bytes;
    return {bytes.in_memory, lanes, in_memory, false};
}

}  // namespace numascape
