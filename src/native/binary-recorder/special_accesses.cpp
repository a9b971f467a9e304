// SPDX-License-Identifier: Apache-2.0
//
// Accesses whose extent is known only when they run: repeated string instructions (rcx elements)
// and masked vectors (the lanes the mask selects). Counted by a call before the instruction.
#include <string_view>

#include "dr_api.h"
#include "drmgr.h"
#include "drreg.h"
#include "drutil.h"
#include "recorder.h"

namespace numascape {
namespace {

// `count` elements of `bytes` bytes upwards from `first`: each page counts the elements that
// touch it.
void count_elements(ThreadRecorder& recorder, uint64_t first, uint64_t count, uint64_t bytes,
                    bool write, uint64_t pc) {
    const uint64_t end = first + count * bytes;
    for (uint64_t page = first & ~(kPageBytes - 1); page < end; page += kPageBytes) {
        const uint64_t low = page > first ? page : first;
        const uint64_t high = page + kPageBytes < end ? page + kPageBytes : end;
        const uint64_t elements = (high - 1 - first) / bytes - (low - first) / bytes + 1;
        shard.count(recorder, low, 1, write ? 0 : elements, write ? elements : 0, pc);
    }
}

void repeated_string(app_pc pc, uint64_t bytes, bool reads, bool writes) {
    ThreadRecorder* recorder = self();
    dr_mcontext_t context;
    context.size = sizeof context;
    context.flags = static_cast<dr_mcontext_flags_t>(DR_MC_INTEGER | DR_MC_CONTROL);
    dr_get_mcontext(dr_get_current_drcontext(), &context);
    const uint64_t count = context.xcx;
    if (recorder == nullptr || recorder->table == nullptr || count == 0) {
        return;
    }
    constexpr uint64_t kDirectionFlag = 1 << 10;
    const uint64_t back = (context.xflags & kDirectionFlag) != 0 ? (count - 1) * bytes : 0;
    const auto at = reinterpret_cast<uint64_t>(pc);
    if (reads) {
        count_elements(*recorder, context.xsi - back, count, bytes, false, at);
    }
    if (writes) {
        count_elements(*recorder, context.xdi - back, count, bytes, true, at);
    }
}

// How an instruction's mask selects bytes of its memory operand.
struct MaskedShape {
    uint32_t element_bytes;  // 0: the whole operand when any lane is selected
    uint32_t operand_bytes;
    bool packed;  // compress and expand: as many leading elements as lanes are selected
    bool write;
};

void masked_access(app_pc pc, uint64_t address, uint64_t mask, const MaskedShape* shape) {
    ThreadRecorder* recorder = self();
    if (recorder == nullptr || recorder->table == nullptr) {
        return;
    }
    const uint32_t lanes =
        shape->element_bytes == 0 ? 64 : shape->operand_bytes / shape->element_bytes;
    if (lanes < 64) {
        mask &= (uint64_t{1} << lanes) - 1;
    }
    if (mask == 0) {
        return;
    }
    uint64_t low = 0;
    uint64_t high = shape->operand_bytes;
    if (shape->packed) {
        high = static_cast<uint64_t>(__builtin_popcountll(mask)) * shape->element_bytes;
    } else if (shape->element_bytes != 0) {
        low = static_cast<uint64_t>(__builtin_ctzll(mask)) * shape->element_bytes;
        high = (64 - static_cast<uint64_t>(__builtin_clzll(mask))) * shape->element_bytes;
    }
    // At most two pages; a page counts when a selected lane touches it.
    const uint64_t first = address + low;
    const uint64_t last = address + high - 1;
    const uint64_t reads = shape->write ? 0 : 1;
    const auto at = reinterpret_cast<uint64_t>(pc);
    shard.count(*recorder, first, 1, reads, 1 - reads, at);
    if (window_page(first) != window_page(last)) {
        shard.count(*recorder, last, 1, reads, 1 - reads, at);
    }
}

bool ends_with(std::string_view name, std::string_view end) {
    return name.ends_with(end);
}

uint32_t element_bytes_of(int opcode, uint32_t operand_bytes) {
    const std::string_view name = decode_opcode_name(opcode);
    if (name.starts_with("vcvt") || name.find("broadcast") != std::string_view::npos ||
        name.starts_with("vpmovzx") || name.starts_with("vpmovsx")) {
        return 0;  // memory elements differ from the destination's
    }
    if (name.starts_with("vpmov") && !name.starts_with("vpmovm")) {
        return 0;
    }
    uint32_t bytes = 0;
    const bool scalar_double = ends_with(name, "sd") && !name.starts_with("vp");  // vpcompressd
    if (ends_with(name, "pd") || ends_with(name, "q") || ends_with(name, "64") || scalar_double) {
        bytes = 8;
    } else if (ends_with(name, "ps") || ends_with(name, "d") || ends_with(name, "32") ||
               ends_with(name, "ss")) {
        bytes = 4;
    } else if (ends_with(name, "w") || ends_with(name, "16")) {
        bytes = 2;
    } else if (ends_with(name, "b") || ends_with(name, "8")) {
        bytes = 1;
    }
    // An embedded broadcast reads one element for all lanes.
    return bytes != 0 && operand_bytes > bytes ? bytes : 0;
}

// Compressing stores and expanding loads: the selected lanes lie side by side in memory.
bool is_packed(int opcode) {
    const std::string_view name = decode_opcode_name(opcode);
    return name.find("compress") != std::string_view::npos ||
           name.find("expand") != std::string_view::npos;
}

uint32_t operand_bytes(opnd_t operand) {
    return opnd_size_in_bytes(opnd_get_size(operand));
}

// Of the vector register: DynamoRIO gives a packed memory operand the size of one element.
uint32_t vector_bytes(instr_t* where) {
    for (int i = 0; i < instr_num_srcs(where) + instr_num_dsts(where); ++i) {
        const int dst = i - instr_num_srcs(where);
        const opnd_t operand = dst < 0 ? instr_get_src(where, i) : instr_get_dst(where, dst);
        if (opnd_is_reg(operand) && reg_is_simd(opnd_get_reg(operand))) {
            return operand_bytes(operand);
        }
    }
    return 0;
}

const MaskedShape* shape_of(instr_t* where, bool write, uint32_t operand_bytes, bool by_bytes) {
    auto* shape = static_cast<MaskedShape*>(permanent(sizeof(MaskedShape)));
    shape->operand_bytes = operand_bytes;
    shape->write = write;
    shape->packed = is_packed(instr_get_opcode(where));
    shape->element_bytes = by_bytes ? 1 : element_bytes_of(instr_get_opcode(where), operand_bytes);
    return shape;
}

// The instruction's mask into `into`: one bit per lane.
void insert_mask(void* drcontext, instrlist_t* block, instr_t* where, reg_id_t into) {
    const auto add = [&](instr_t* i) { instrlist_meta_preinsert(block, where, i); };
    const opnd_t into32 = opnd_create_reg(reg_64_to_32(into));
    const opnd_t first = instr_get_src(where, 0);
    if (opnd_is_reg(first) && opnd_get_reg(first) >= DR_REG_K0 &&
        opnd_get_reg(first) <= DR_REG_K7) {
        const reg_id_t k = opnd_get_reg(first);
        if (proc_has_feature(FEATURE_AVX512BW)) {
            add(INSTR_CREATE_kmovq(drcontext, opnd_create_reg(into), opnd_create_reg(k)));
        } else {
            add(INSTR_CREATE_kmovw(drcontext, into32, opnd_create_reg(k)));
        }
        return;
    }
    // AVX and SSE: the lane's top bit. The mask is the vector source that is not the data: for
    // loads the only one, for stores `mask, data` (vmaskmovps) or `data, mask` (vpmaskmov,
    // maskmovdqu).
    opnd_t mask = opnd_create_null();
    const int opcode = instr_get_opcode(where);
    const bool mask_last = opcode == OP_maskmovdqu || opcode == OP_vmaskmovdqu ||
                           opcode == OP_maskmovq || opcode == OP_vpmaskmovd ||
                           opcode == OP_vpmaskmovq;
    for (int i = 0; i < instr_num_srcs(where); ++i) {
        const opnd_t src = instr_get_src(where, i);
        if (opnd_is_reg(src) && (reg_is_simd(opnd_get_reg(src)) || reg_is_mmx(opnd_get_reg(src)))) {
            mask = src;
            if (!mask_last) {
                break;
            }
        }
    }
    switch (opcode) {
        case OP_vmaskmovps:
        case OP_vpmaskmovd:
            add(INSTR_CREATE_vmovmskps(drcontext, opnd_create_reg(into), mask));
            break;
        case OP_vmaskmovpd:
        case OP_vpmaskmovq:
            add(INSTR_CREATE_vmovmskpd(drcontext, opnd_create_reg(into), mask));
            break;
        case OP_maskmovq:
        case OP_maskmovdqu:
            add(INSTR_CREATE_pmovmskb(drcontext, into32, mask));
            break;
        default:
            add(INSTR_CREATE_vpmovmskb(drcontext, into32, mask));
            break;
    }
}

}  // namespace

void insert_repeated_string(void* drcontext, instrlist_t* block, instr_t* where) {
    const int opcode = instr_get_opcode(where);
    const opnd_t memory = opcode == OP_rep_lods ? instr_get_src(where, 0) : instr_get_dst(where, 0);
    const uint32_t bytes = opnd_size_in_bytes(opnd_get_size(memory));
    const bool reads = opcode == OP_rep_movs || opcode == OP_rep_lods;
    const bool writes = opcode == OP_rep_movs || opcode == OP_rep_stos;
    dr_insert_clean_call_ex(drcontext, block, where, reinterpret_cast<void*>(&repeated_string),
                            DR_CLEANCALL_READS_APP_CONTEXT, 4,
                            OPND_CREATE_INTPTR(instr_get_app_pc(where)),
                            OPND_CREATE_INT32(static_cast<int>(bytes)), OPND_CREATE_INT32(reads),
                            OPND_CREATE_INT32(writes));
}

void insert_masked(void* drcontext, instrlist_t* block, instr_t* where) {
    opnd_t memory = opnd_create_null();
    bool write = false;
    for (int i = 0; i < instr_num_srcs(where); ++i) {
        if (opnd_is_memory_reference(instr_get_src(where, i))) {
            memory = instr_get_src(where, i);
        }
    }
    for (int i = 0; i < instr_num_dsts(where); ++i) {
        if (opnd_is_memory_reference(instr_get_dst(where, i))) {
            memory = instr_get_dst(where, i);
            write = true;
        }
    }
    if (opnd_is_null(memory) || (!options.count_stack && opnd_is_base_disp(memory) &&
                                 opnd_get_base(memory) == DR_REG_XSP)) {
        return;
    }
    const int opcode = instr_get_opcode(where);
    const bool by_bytes =
        opcode == OP_maskmovdqu || opcode == OP_vmaskmovdqu || opcode == OP_maskmovq;
    const bool packed = is_packed(opcode);
    if (packed &&
        std::string_view(decode_opcode_name(opcode)).find("expand") != std::string_view::npos) {
        write = false;  // DynamoRIO 11.90 lists the memory of vexpandps and vexpandpd as written
    }
    const MaskedShape* shape =
        shape_of(where, write, packed ? vector_bytes(where) : operand_bytes(memory), by_bytes);
    reg_id_t address = DR_REG_NULL;
    reg_id_t mask = DR_REG_NULL;
    if (drreg_reserve_register(drcontext, block, where, nullptr, &address) != DRREG_SUCCESS ||
        drreg_reserve_register(drcontext, block, where, nullptr, &mask) != DRREG_SUCCESS) {
        DR_ASSERT_MSG(false, "no scratch register");
        return;
    }
    drutil_insert_get_mem_addr(drcontext, block, where, memory, address, mask);
    insert_mask(drcontext, block, where, mask);
    dr_insert_clean_call(drcontext, block, where, reinterpret_cast<void*>(&masked_access), false, 4,
                         OPND_CREATE_INTPTR(instr_get_app_pc(where)), opnd_create_reg(address),
                         opnd_create_reg(mask), OPND_CREATE_INTPTR(shape));
    drreg_unreserve_register(drcontext, block, where, mask);
    drreg_unreserve_register(drcontext, block, where, address);
}

}  // namespace numascape
