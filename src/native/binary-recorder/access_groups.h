// SPDX-License-Identifier: Apache-2.0
//
// Finds memory accesses of a basic block that can be counted together. Also finds the registers and
// flags whose values the program does not need at the places where accesses are counted.
//
// Accesses form a group if the code shows that their addresses differ by constants: they have the
// same base and index values, followed through additions, copies, pushes and pops. At run time, one
// address is computed. If the whole group is on one page, one subtraction counts all its reads, and
// another one all its writes.
#pragma once

#include <cstdint>

#include "dr_api.h"
#include "register_set.h"

namespace numascape {

// The description of a group for the slow path. It exists as long as the process.
struct GroupAccess {
    uint64_t pc;
    uint16_t offset;  // from the group's lowest byte
    uint16_t bytes;
    bool write;
};
// Where the program's frame pointer is while the slow path runs.
enum class FramePointerAt : uint8_t {
    kInRegister,
    kNowhere,
    kInSlot,  // this and the following values: in the spill slot of a role, the first one and so on
};
// The first fields of each description for the slow path.
struct PlaceInfo {
    uint64_t pc;    // of the first access
    uint32_t site;  // see BlockAccess
    FramePointerAt frame_pointer = FramePointerAt::kInRegister;
};
struct GroupInfo {
    PlaceInfo place;
    GroupAddress address;
    uint16_t accesses;
    uint16_t sums;  // behind the accesses, see group_sums.h
    GroupAccess access[1];
};

// The registers that inserted code may change at a point of the block, and whether it may change
// the flags.
struct DeadRegisters {
    RegisterSet dead;  // overwritten before they are read
    bool flags_dead;
};

struct AccessGroup {
    instr_t* first;  // counted before this instruction
    uint32_t at;     // its position in the block
    opnd_t operand;  // its operand: lowest address of the group = operand + low - first_offset
    int64_t first_offset;  // offsets are relative to the group's symbolic base
    int64_t low;
    int64_t high;         // one past the last byte
    uint32_t base_value;  // symbolic values; 0 = none
    uint32_t index_value;
    int scale;
    reg_id_t segment;
    bool open;       // may still grow
    bool is_static;  // address known now: `low` is the address itself
    bool plain;      // general registers only: a lea computes the address
    uint32_t reads;
    uint32_t writes;
    uint32_t first_access;  // chain of members in BlockPlan::access
    uint32_t last_access;
    DeadRegisters dead_registers;
};

inline constexpr uint32_t kNoAccess = 0xffffffff;

struct PlannedAccess {
    uint64_t pc;
    int64_t offset;
    uint32_t bytes;
    uint32_t next;
    bool write;
};

struct PlannedSpecial {
    instr_t* instruction;
    uint32_t at;
    DeadRegisters dead_registers;
};

// Where a block without counted accesses is counted: before the instruction where this needs the
// fewest saves. Null in a block with accesses.
struct PlannedHead {
    instr_t* instruction;
    DeadRegisters dead_registers;
};

struct BlockPlan {
    static constexpr uint32_t kMaxGroups = 256;
    static constexpr uint32_t kMaxAccesses = 768;
    static constexpr uint32_t kMaxSpecials = 64;
    static constexpr uint32_t kMaxInstructions = 1024;
    uint32_t groups;
    uint32_t accesses;
    uint32_t specials;
    uint32_t next_group;  // insertion proceeds in order
    uint32_t next_special;
    uint32_t instructions;
    RegisterSet used;  // by any instruction of the block
    bool linear;       // no control flow inside the block
    int64_t distance;  // from where the instructions are decoded to where the program has them
    PlannedHead head;
    AccessGroup group[kMaxGroups];
    PlannedAccess access[kMaxAccesses];
    PlannedSpecial special[kMaxSpecials];
    instr_t* instruction[kMaxInstructions];
};

// The address of an instruction in the program. If a block's page also has data that is written,
// DynamoRIO decodes its own copy of the block when it translates a fault there.
uint64_t program_pc(const BlockPlan& plan, instr_t* instruction);

// Fills `plan` for the block, which begins at `start` in the program. `count_stack`: accesses
// relative to the stack pointer count too.
void plan_block(instrlist_t* block, app_pc start, bool count_stack, BlockPlan& plan);

}  // namespace numascape
