// SPDX-License-Identifier: Apache-2.0
//
// Scratch registers for the counting code.
//
// A register that the block does not use is reserved for the whole block: it is saved at the first
// counted access and restored at the last. If there is none, a register is saved and restored
// around each counted access, or taken without saving if its value is dead there. Each instruction
// of the program sees only its own register values. Only a fault inside a block, and the release of
// its thread, must restore the reserved registers (restore_program_state).
#pragma once

#include "access_groups.h"
#include "block_heads.h"
#include "dr_api.h"

namespace numascape {

// The place where code is inserted.
struct Emitter {
    void* drcontext;
    instrlist_t* block;
    instr_t* where;

    void add(instr_t* instruction) const { instrlist_meta_preinsert(block, where, instruction); }
    static opnd_t reg(reg_id_t which) { return opnd_create_reg(which); }
    static opnd_t reg32(reg_id_t which) { return opnd_create_reg(reg_64_to_32(which)); }
    static opnd_t reg8(reg_id_t which) {
        return opnd_create_reg(reg_resize_to_opsz(which, OPSZ_1));
    }
    static opnd_t label(instr_t* which) { return opnd_create_instr(which); }
};

// The roles of scratch registers; each role has a thread slot that saves the program's value.
enum class Role : unsigned { kAddress, kTable, kSecond, kLine, kFlags, kCount };

// The slot with the program's value of the role's register, if the value was saved.
enum class ThreadSlot : unsigned;
ThreadSlot spill_slot(Role role);

// The registers taken for a whole block.
struct BlockScratch {
    reg_id_t reg[static_cast<unsigned>(Role::kCount)];
    bool saved;         // the program's values are in their slots
    bool table_loaded;  // kTable's register holds the thread's table
    uint32_t number;    // of the block; kNoBlock: it has none
    uint32_t head;      // the same until the block is counted, at its first place; then kNoBlock
};

// What some place of the block needs, besides an address and the table.
struct BlockNeeds {
    bool flags;  // must be saved, which needs the accumulator
    bool second;
};
// Chooses from the registers that the block does not use.
BlockScratch choose_block_scratch(const BlockPlan& plan, const BlockNeeds& needs);

// One place's registers. Use: construct, take(), save_flags(), ..., restore().
class PlaceScratch {
  public:
    // `excluded`: the registers of the program that the inserted code reads.
    PlaceScratch(const Emitter& emit, BlockScratch& block, const DeadRegisters& dead_registers,
                 RegisterSet excluded);

    // The register for a role, saved when needed.
    reg_id_t take(Role role);
    // The register with the table of the thread.
    reg_id_t take_table();
    // Saves the arithmetic flags if the program still needs them; the inserted code may change them
    // afterwards. At the first place of the block, also counts the block.
    void save_flags();
    // Where the program's frame pointer is, after all registers are taken.
    FramePointerAt frame_pointer() const;
    // Puts back everything that this place saved. `last`: no place of the block follows.
    void restore(bool last);

  private:
    void count_block();
    void save(Role role, reg_id_t reg);
    void reload(Role role, reg_id_t reg);

    const Emitter& emit_;
    BlockScratch& block_;
    DeadRegisters dead_registers_;
    RegisterSet excluded_;
    reg_id_t local_[static_cast<unsigned>(Role::kCount)];  // taken here only
    bool local_saved_[static_cast<unsigned>(Role::kCount)];
    bool flags_saved_ = false;
};

// Registers DynamoRIO's restore-state event.
void scratch_init();

}  // namespace numascape
