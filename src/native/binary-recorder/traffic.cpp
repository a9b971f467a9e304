// SPDX-License-Identifier: Apache-2.0
//
// A probe of the line at `offset` bytes from a group's lowest address:
//
//     lea   b, [a + offset]
//     shr   b, line_bits             b = the line
//     imul  c32, b32, kFilterHash
//     shr   c32, kFilterShift
//     and   c32, mask                c = offset of the line's entry in the filter
//     add   c, [filter]
//     cmp   dword [c], b32           (or [c + kDirtyLines], for a write)
//     je    done
//     mov   dword [c], b32
//     mov   c, [states + b]          in the window
//     shl   c, kLineFlags
//     test  c, [has]                 (or cmp c, [owns] and je, for a write)
//     jnz   waits
//     ...   slow_paths.line_moves    and back to here
//   waits:                           the line waits for the cache
//     mov   c, [waiting]
//     mov   [c], b
//     add   c, 8
//     mov   [waiting], c
//     test  c32, waiting bytes - 1
//     jz    slow_paths
#include "traffic.h"

#include "counting_code.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

opnd_t filter_entry(reg_id_t filter, uint32_t offset, bool write) {
    return opnd_create_base_disp(filter, DR_REG_NULL, 0,
                                 static_cast<int>(offset + (write ? kDirtyLines : 0)), OPSZ_4);
}

// The registers of a probe, as above. `a` is DR_REG_NULL if the address is a constant.
struct ProbeRegisters {
    reg_id_t a, b, c;
};

// Compares with the filter's entry for the line in `b`.
void insert_lookup(const Emitter& emit, reg_id_t b, reg_id_t c, bool write) {
    void* dc = emit.drcontext;
    const CacheShape& shape = shard.cache_shape();
    emit.add(INSTR_CREATE_imul_imm(dc, emit.reg32(c), emit.reg32(b),
                                   OPND_CREATE_INT32(static_cast<int>(kFilterHash))));
    emit.add(INSTR_CREATE_shr(dc, emit.reg32(c), OPND_CREATE_INT8(kFilterShift)));
    emit.add(INSTR_CREATE_and(dc, emit.reg32(c),
                              OPND_CREATE_INT32(static_cast<int>(CacheModel::filter_mask(shape)))));
    emit.add(INSTR_CREATE_add(dc, emit.reg(c), thread_slot(dc, ThreadSlot::kFilter)));
    emit.add(INSTR_CREATE_cmp(dc, filter_entry(c, 0, write), emit.reg32(b)));
}

// Whether the thread may go on with the line in `b`, or must take it from another.
void insert_state_check(const Emitter& emit, const ProbeRegisters& registers,
                        const LineProbe& probe) {
    void* dc = emit.drcontext;
    const auto [a, b, c] = registers;
    const unsigned above = 64 - (kWindowBits - shard.cache_shape().line_bits);
    instr_t* waits = INSTR_CREATE_label(dc);
    emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(c), emit.reg(b)));
    emit.add(INSTR_CREATE_shl(dc, emit.reg(c), OPND_CREATE_INT8(static_cast<int>(above))));
    emit.add(INSTR_CREATE_shr(dc, emit.reg(c), OPND_CREATE_INT8(static_cast<int>(above - 3))));
    emit.add(INSTR_CREATE_add(dc, emit.reg(c), thread_slot(dc, ThreadSlot::kLineStates)));
    emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(c), OPND_CREATE_MEM64(c, 0)));
    emit.add(INSTR_CREATE_shl(dc, emit.reg(c), OPND_CREATE_INT8(kLineFlags)));
    if (probe.write != 0) {
        emit.add(INSTR_CREATE_cmp(dc, emit.reg(c), thread_slot(dc, ThreadSlot::kOwnsLine)));
        emit.add(INSTR_CREATE_jcc(dc, OP_je, emit.label(waits)));
    } else {
        emit.add(INSTR_CREATE_test(dc, thread_slot(dc, ThreadSlot::kHasLine), emit.reg(c)));
        emit.add(INSTR_CREATE_jcc(dc, OP_jnz, emit.label(waits)));
    }
    if (probe.base == 0) {
        emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(a)));
    }
    LineProbe copy = probe;
    __builtin_clear_padding(&copy);
    emit_slow_path_jump(emit, slow_paths.line_moves, keep_value(&copy, sizeof copy), c, waits);
    emit.add(waits);
}

// The line in `b`, with its entry at `c` + `entry`, waits for the cache.
void insert_waiting(const Emitter& emit, const ProbeRegisters& registers, uint32_t entry,
                    const LineProbe& probe, instr_t* done) {
    void* dc = emit.drcontext;
    const auto [a, b, c] = registers;
    const bool write = probe.write != 0;
    const auto bytes = static_cast<int>(CacheModel::waiting_bytes(shard.cache_shape()));
    emit.add(INSTR_CREATE_mov_st(dc, filter_entry(c, entry, false), emit.reg32(b)));
    if (write) {
        emit.add(INSTR_CREATE_mov_st(dc, filter_entry(c, entry, true), emit.reg32(b)));
    }
    if (shard.shared_lines().is_open()) {
        insert_state_check(emit, registers, probe);
    }
    if (write) {
        emit.add(INSTR_CREATE_bts(dc, emit.reg(b), OPND_CREATE_INT8(kWrittenBit)));
    }
    load_thread_slot(dc, emit.block, emit.where, ThreadSlot::kWaiting, c);
    emit.add(INSTR_CREATE_mov_st(dc, OPND_CREATE_MEM64(c, 0), emit.reg(b)));
    emit.add(INSTR_CREATE_add(dc, emit.reg(c), OPND_CREATE_INT8(sizeof(WaitingLine))));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kWaiting), emit.reg(c)));
    emit.add(INSTR_CREATE_test(dc, emit.reg32(c), OPND_CREATE_INT32(bytes - 1)));
    emit.add(INSTR_CREATE_jcc(dc, OP_jnz, emit.label(done)));
    instrlist_insert_mov_instr_addr(dc, done, nullptr, emit.reg(c), emit.block, emit.where, nullptr,
                                    nullptr);
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kReturn), emit.reg(c)));
    emit.add(INSTR_CREATE_jmp(dc, opnd_create_pc(slow_paths.lines_wait)));
    emit.add(done);
}

void insert_probe_at(const Emitter& emit, PlaceScratch& scratch, reg_id_t a,
                     const LineProbe& probe) {
    void* dc = emit.drcontext;
    const int offset = probe.offset;
    const reg_id_t b = scratch.take(Role::kSecond);
    const reg_id_t c = scratch.take(Role::kLine);
    if (offset == 0) {
        emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(b), emit.reg(a)));
    } else {
        emit.add(INSTR_CREATE_lea(dc, emit.reg(b),
                                  opnd_create_base_disp(a, DR_REG_NULL, 0, offset, OPSZ_lea)));
    }
    emit.add(INSTR_CREATE_shr(dc, emit.reg(b),
                              OPND_CREATE_INT8(static_cast<int>(shard.cache_shape().line_bits))));
    insert_lookup(emit, b, c, probe.write != 0);
    instr_t* done = INSTR_CREATE_label(dc);
    emit.add(INSTR_CREATE_jcc(dc, OP_je, emit.label(done)));
    insert_waiting(emit, {a, b, c}, 0, probe, done);
}

void insert_static_probe(const Emitter& emit, PlaceScratch& scratch, const LineProbe& probe) {
    void* dc = emit.drcontext;
    const CacheShape& shape = shard.cache_shape();
    const uint64_t line = (probe.base + static_cast<uint64_t>(probe.offset)) >> shape.line_bits;
    const reg_id_t b = scratch.take(Role::kSecond);
    const reg_id_t c = scratch.take(Role::kLine);
    const uint32_t entry = CacheModel::filter_offset(line, CacheModel::filter_mask(shape));
    load_thread_slot(dc, emit.block, emit.where, ThreadSlot::kFilter, c);
    emit.add(INSTR_CREATE_cmp(dc, filter_entry(c, entry, probe.write != 0),
                              OPND_CREATE_INT32(static_cast<int>(static_cast<FilterEntry>(line)))));
    instr_t* done = INSTR_CREATE_label(dc);
    emit.add(INSTR_CREATE_jcc(dc, OP_je, emit.label(done)));
    instrlist_insert_mov_immed_ptrsz(dc, static_cast<ptr_int_t>(line), emit.reg(b), emit.block,
                                     emit.where, nullptr, nullptr);
    insert_waiting(emit, {DR_REG_NULL, b, c}, entry, probe, done);
}

// Offsets of bytes, such that each line that a group accesses contains one of them.
class Probes {
  public:
    // `stops`: lines begin at multiples of `line` from offset 0. Otherwise they may begin anywhere.
    Probes(const BlockPlan& plan, const AccessGroup& group, int64_t line, bool aligned) {
        for (const bool write : {true, false}) {
            int64_t from = INT64_MIN;
            while (const PlannedAccess* access = lowest(plan, group, from, write)) {
                from = access->offset + 1;
                if (aligned) {
                    for (int64_t at = access->offset & -line;
                         at < access->offset + int64_t{access->bytes}; at += line) {
                        add(at, write);
                    }
                } else {
                    from = add_cluster(plan, group, *access, line, write);
                }
            }
        }
    }
    template <typename Visit>
    void each(Visit visit) const {
        for (uint32_t i = 0; i < count_; ++i) {
            visit(offset_[i], write_[i]);
        }
    }

  private:
    static constexpr uint32_t kMax = 256;

    static const PlannedAccess* lowest(const BlockPlan& plan, const AccessGroup& group,
                                       int64_t from, bool write) {
        const PlannedAccess* found = nullptr;
        for (uint32_t i = group.first_access; i != kNoAccess; i = plan.access[i].next) {
            const PlannedAccess& access = plan.access[i];
            if (access.write == write && access.offset >= from &&
                (found == nullptr || access.offset < found->offset ||
                 (access.offset == found->offset && access.bytes > found->bytes))) {
                found = &access;
            }
        }
        return found;
    }

    // Accesses from `first` upwards that together span no more than a line, and so lie on two at
    // most: its first byte, and one of the last access. Returns where the next cluster may begin.
    int64_t add_cluster(const BlockPlan& plan, const AccessGroup& group, const PlannedAccess& first,
                        int64_t line, bool write) {
        const int64_t low = first.offset;
        int64_t next = low + 1;
        int64_t last = last_byte(first);
        while (const PlannedAccess* access = lowest(plan, group, next, write)) {
            if (access->offset + int64_t{access->bytes} - low > line) {
                break;
            }
            next = access->offset + 1;
            last = last_byte(*access) > last ? last_byte(*access) : last;
        }
        for (int64_t at = low; at < last; at += line) {
            add(at, write);
        }
        add(last, write);
        return next;
    }

    // Words are assumed to be aligned. If an unaligned word is grouped with others, only its first
    // byte is looked up.
    static int64_t last_byte(const PlannedAccess& access) {
        const bool word = access.bytes <= 8 && (access.bytes & (access.bytes - 1)) == 0;
        return word ? access.offset : access.offset + access.bytes - 1;
    }

    // Writes come first: a read of the same byte adds nothing.
    void add(int64_t offset, bool write) {
        for (uint32_t i = 0; i < count_; ++i) {
            if (offset_[i] == offset) {
                return;
            }
        }
        if (count_ < kMax) {
            offset_[count_] = offset;
            write_[count_++] = write;
        }
    }

    int64_t offset_[kMax];
    bool write_[kMax];
    uint32_t count_ = 0;
};

// Accesses of one thread to one line, in the order of the program.
class LineAccesses {
  public:
    explicit LineAccesses(uint64_t line) : line_(line) {}

    // Adds what the access touches of the line, if anything.
    void add(uint64_t address, uint64_t bytes, bool write, uint64_t pc) {
        const uint32_t size = line_bytes();
        const uint64_t start = line_ << shard.cache_shape().line_bits;
        const uint64_t low = address > start ? address - start : 0;
        const uint64_t end = address + bytes > start ? address + bytes - start : 0;
        const uint64_t high = end < size ? end : size;
        if (address >= start + size || low >= high || count_ == kMax) {
            return;
        }
        access_[count_++] = {mask(low, high), pc, write};
    }
    void use(ThreadRecorder& recorder) const { shard.use_line(recorder, line_, access_, count_); }

  private:
    static constexpr uint32_t kMax = 64;

    // The bytes [low, high) of a line, as 64 parts at most.
    static ByteMask mask(uint64_t low, uint64_t high) {
        const uint64_t part = line_bytes() > 64 ? line_bytes() / 64 : 1;
        const uint64_t first = low / part;
        const uint64_t count = (high - 1) / part - first + 1;
        return (count >= 64 ? ~ByteMask{0} : (ByteMask{1} << count) - 1) << first;
    }

    uint64_t line_;
    uint32_t count_ = 0;
    SharedLines::Access access_[kMax];
};

}  // namespace

bool traffic() {
    return shard.cache_shape().ways != 0;
}

uint32_t line_bytes() {
    return 1u << shard.cache_shape().line_bits;
}

void insert_group_probes(const Emitter& emit, PlaceScratch& scratch, const BlockPlan& plan,
                         const AccessGroup& group, const GroupInfo* info, reg_id_t a) {
    const Probes probes(plan, group, line_bytes(), group.is_static);
    probes.each([&](int64_t offset, bool write) {
        const uint64_t base = group.is_static ? static_cast<uint64_t>(group.low) : 0;
        const LineProbe probe{
            info->place, info, base, static_cast<int32_t>(offset - group.low), 0, write ? 1u : 0u};
        if (group.is_static) {
            insert_static_probe(emit, scratch, probe);
        } else {
            insert_probe_at(emit, scratch, a, probe);
        }
    });
}

void insert_probe(const Emitter& emit, PlaceScratch& scratch, reg_id_t a, uint32_t bytes,
                  bool write, const PlaceInfo& place) {
    insert_probe_at(emit, scratch, a, {place, nullptr, 0, 0, bytes, write ? 1u : 0u});
}

void use_probed_line(ThreadRecorder& recorder, uint64_t low, const LineProbe& probe) {
    low = probe.base != 0 ? probe.base : low;
    const uint64_t line =
        (low + static_cast<uint64_t>(int64_t{probe.offset})) >> shard.cache_shape().line_bits;
    LineAccesses accesses(line);
    if (probe.group == nullptr) {
        accesses.add(low, probe.bytes, probe.write != 0, probe.place.pc);
    } else {
        for (unsigned i = 0; i < probe.group->accesses; ++i) {
            const GroupAccess& access = probe.group->access[i];
            accesses.add(low + access.offset, access.bytes, access.write, access.pc);
        }
    }
    accesses.use(recorder);
}

void touch_lines(ThreadRecorder& recorder, uint64_t address, uint64_t bytes, bool write,
                 uint64_t pc) {
    if (recorder.cache == nullptr || bytes == 0) {
        return;
    }
    const uint32_t bits = shard.cache_shape().line_bits;
    const SharedLines& lines = shard.shared_lines();
    const LineUser user = SharedLines::user(recorder.thread);
    const uint64_t last = (address + bytes - 1) >> bits;
    for (uint64_t line = address >> bits; line <= last; ++line) {
        if (recorder.cache->in_filter(line, write)) {
            continue;
        }
        const bool full = recorder.cache->touch(line, write);
        if (lines.is_open() && !lines.may_use(user, line, write)) {
            LineAccesses accesses(line);
            accesses.add(address, bytes, write, pc);
            accesses.use(recorder);
        }
        if (full) {
            shard.drain_misses(recorder, true);
        }
    }
}

}  // namespace numascape
