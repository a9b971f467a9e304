// SPDX-License-Identifier: Apache-2.0
//
// The generated code of the slow path of the inlined counting. The inlined code jumps here, with
// arguments in DynamoRIO's slots of the thread; the slow path returns by a jump. It keeps every
// register except the arithmetic flags. It never touches the program's stack, because data of a
// leaf function may be below rsp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dr_api.h"
#include "recorder.h"

namespace numascape {

inline constexpr int kDirectionFlag = 1 << 10;

// A function that the generated code calls. The last three arguments are the registers (as
// ProgramRegisters, if it saves all of them), a second argument, and a vector.
using Handler = void (*)(uint64_t argument, const void* info, ThreadRecorder* recorder,
                         const void* registers, uint64_t second, const void* vector);

class SlowPathCode {
  public:
    explicit SlowPathCode(void* drcontext);
    ~SlowPathCode();
    SlowPathCode(const SlowPathCode&) = delete;
    SlowPathCode& operator=(const SlowPathCode&) = delete;

    // Code that calls one handler when the carry flag is set, the other when it is clear.
    app_pc code(Handler with_carry, Handler without) {
        return code(with_carry, without, kCallClobbered, sizeof kCallClobbered / sizeof(reg_id_t));
    }
    // The same with all registers.
    app_pc code_with_all_registers(Handler with_carry, Handler without) {
        return code(with_carry, without, kAll, sizeof kAll / sizeof(reg_id_t));
    }
    app_pc code_with_all_registers(Handler handler) {
        return code_with_all_registers(handler, handler);
    }

  private:
    app_pc code(Handler with_carry, Handler without, const reg_id_t* saved, size_t saved_count);

    // Call-clobbered registers of the System V ABI; the handlers keep the others.
    static constexpr reg_id_t kCallClobbered[] = {DR_REG_RAX, DR_REG_RCX, DR_REG_RDX,
                                                  DR_REG_RSI, DR_REG_RDI, DR_REG_R8,
                                                  DR_REG_R9,  DR_REG_R10, DR_REG_R11};
    static constexpr reg_id_t kAll[] = {DR_REG_RAX, DR_REG_RCX, DR_REG_RDX, DR_REG_RSI, DR_REG_RDI,
                                        DR_REG_R8,  DR_REG_R9,  DR_REG_R10, DR_REG_R11, DR_REG_RBX,
                                        DR_REG_RBP, DR_REG_R12, DR_REG_R13, DR_REG_R14, DR_REG_R15};

    void add(instr_t* instruction) { instrlist_meta_append(list_, instruction); }
    opnd_t slot(ThreadSlot which) { return thread_slot(drcontext_, which); }
    static opnd_t reg(reg_id_t which) { return opnd_create_reg(which); }
    void load(reg_id_t into, ThreadSlot from) {
        add(INSTR_CREATE_mov_ld(drcontext_, reg(into), slot(from)));
    }
    void load_address(void* function) {
        add(INSTR_CREATE_mov_imm(drcontext_, reg(DR_REG_RAX),
                                 OPND_CREATE_INT64(reinterpret_cast<int64_t>(function))));
    }

    void* drcontext_;
    instrlist_t* list_ = nullptr;
    app_pc memory_;
    app_pc next_;
};

// Whether `pc` is in this code.
bool is_slow_path_code(byte* pc);

}  // namespace numascape
