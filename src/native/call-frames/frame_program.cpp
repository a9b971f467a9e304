// SPDX-License-Identifier: Apache-2.0
#include "frame_program.h"

namespace numascape {
namespace {

constexpr unsigned kRemembered = 8;
constexpr unsigned kMaxInstructions = 1 << 16;

// Operations of DWARF expressions (DWARF 5, section 7.7.1).
constexpr uint8_t kRegisterPlus = 0x70;  // + the register's number
constexpr uint8_t kDereference = 0x06;

class FrameProgram {
  public:
    FrameProgram(const CommonEntry& common, uint64_t start, uint64_t pc, FrameRules& rules)
        : common_(common), location_(start), pc_(pc), rules_(rules) {}

    bool run(ProgramBytes& from) {
        for (unsigned i = 0; i < kMaxInstructions && !from.at_end(); ++i) {
            const auto instruction = from.value<uint8_t>();
            const uint8_t operand = instruction & 0x3f;
            bool known = true;
            switch (instruction & 0xc0) {
                case 0x40:  // advance_loc
                    location_ += operand * common_.code_factor;
                    break;
                case 0x80:  // offset
                    save_at(operand, signed_product(from.unsigned_number()));
                    break;
                case 0xc0:  // restore
                    restore(operand);
                    break;
                default:
                    known = run_extended(operand, from);
            }
            if (!known || from.failed()) {
                return false;
            }
            if (location_ > pc_) {
                return true;
            }
        }
        return from.at_end() && !from.failed();
    }

  private:
    int64_t signed_product(uint64_t number) const {
        return static_cast<int64_t>(number * static_cast<uint64_t>(common_.data_factor));
    }

    void save_at(uint64_t number, int64_t offset) {
        if (RegisterRule* rule = rules_.of(number)) {
            *rule = {RegisterRule::Kind::kAtFrameAddress, offset};
        }
    }

    void set(uint64_t number, RegisterRule::Kind kind) {
        if (RegisterRule* rule = rules_.of(number)) {
            *rule = {kind, 0};
        }
    }

    void restore(uint64_t number) {
        FrameRules initial = common_.initial;
        if (RegisterRule* rule = rules_.of(number)) {
            *rule = *initial.of(number);
        }
    }

    void define(uint64_t base, int64_t offset) {
        rules_.kind = FrameRules::Kind::kRegister;
        rules_.base = base;
        rules_.offset = offset;
    }

    // An expression of the form frame pointer + offset, with or without a dereference.
    bool read_expression(ProgramBytes& from, bool dereferenced, int64_t& offset) {
        const uint64_t bytes = from.unsigned_number();
        const uint64_t start = from.position();
        const bool begins = bytes > 0 && from.value<uint8_t>() == kRegisterPlus + kFramePointer;
        if (begins) {
            offset = from.signed_number();
        }
        bool as_wanted = begins;
        if (begins && dereferenced) {
            as_wanted = from.value<uint8_t>() == kDereference;
        }
        const uint64_t used = from.position() - start;
        if (from.failed() || used > bytes) {
            return false;
        }
        from.skip(bytes - used);
        return as_wanted && used == bytes;
    }

    void define_by_expression(ProgramBytes& from) {
        int64_t offset = 0;
        const bool known = read_expression(from, true, offset);
        rules_.kind = known ? FrameRules::Kind::kAtFramePointer : FrameRules::Kind::kOther;
        rules_.offset = offset;
    }

    void save_by_expression(ProgramBytes& from) {
        const uint64_t number = from.unsigned_number();
        int64_t offset = 0;
        const bool known = read_expression(from, false, offset);
        if (RegisterRule* rule = rules_.of(number)) {
            *rule = {known ? RegisterRule::Kind::kAtFramePointer : RegisterRule::Kind::kOther,
                     offset};
        }
    }

    // The instructions without an operand in their own byte; false for an unknown one.
    bool run_extended(uint8_t instruction, ProgramBytes& from) {
        switch (instruction) {
            case 0x00:  // nop
                return true;
            case 0x01:  // set_loc
                return read_pointer(from, common_.pointers, location_);
            case 0x02:  // advance_loc1
                location_ += from.value<uint8_t>() * common_.code_factor;
                return true;
            case 0x03:  // advance_loc2
                location_ += from.value<uint16_t>() * common_.code_factor;
                return true;
            case 0x04:  // advance_loc4
                location_ += from.value<uint32_t>() * common_.code_factor;
                return true;
            case 0x0a:  // remember_state
                return remember();
            case 0x0b:  // restore_state
                return recall();
            case 0x2e:  // GNU_args_size
                from.unsigned_number();
                return true;
            default:
                return run_frame_address(instruction, from) || run_register(instruction, from);
        }
    }

    // The instructions that define the canonical frame address.
    bool run_frame_address(uint8_t instruction, ProgramBytes& from) {
        uint64_t number = 0;
        switch (instruction) {
            case 0x0c:  // def_cfa
                number = from.unsigned_number();
                define(number, static_cast<int64_t>(from.unsigned_number()));
                return true;
            case 0x0d:  // def_cfa_register
                define(from.unsigned_number(), rules_.offset);
                return true;
            case 0x0e:  // def_cfa_offset
                define(rules_.base, static_cast<int64_t>(from.unsigned_number()));
                return true;
            case 0x0f:  // def_cfa_expression
                define_by_expression(from);
                return true;
            case 0x12:  // def_cfa_sf
                number = from.unsigned_number();
                define(number, signed_product(static_cast<uint64_t>(from.signed_number())));
                return true;
            case 0x13:  // def_cfa_offset_sf
                define(rules_.base, signed_product(static_cast<uint64_t>(from.signed_number())));
                return true;
            default:
                return false;
        }
    }

    // The instructions that say where the caller's registers are.
    bool run_register(uint8_t instruction, ProgramBytes& from) {
        uint64_t number = 0;
        switch (instruction) {
            case 0x05:  // offset_extended
                number = from.unsigned_number();
                save_at(number, signed_product(from.unsigned_number()));
                return true;
            case 0x06:  // restore_extended
                restore(from.unsigned_number());
                return true;
            case 0x07:  // undefined
                set(from.unsigned_number(), RegisterRule::Kind::kUndefined);
                return true;
            case 0x08:  // same_value
                set(from.unsigned_number(), RegisterRule::Kind::kSame);
                return true;
            case 0x09:  // register
                set(from.unsigned_number(), RegisterRule::Kind::kOther);
                from.unsigned_number();
                return true;
            case 0x10:  // expression
                save_by_expression(from);
                return true;
            case 0x11:  // offset_extended_sf
                number = from.unsigned_number();
                save_at(number, signed_product(static_cast<uint64_t>(from.signed_number())));
                return true;
            case 0x14:  // val_offset
            case 0x15:  // val_offset_sf
                set(from.unsigned_number(), RegisterRule::Kind::kOther);
                from.unsigned_number();
                return true;
            case 0x16:  // val_expression
                set(from.unsigned_number(), RegisterRule::Kind::kOther);
                from.skip(from.unsigned_number());
                return true;
            default:
                return false;
        }
    }

    bool remember() {
        if (depth_ == kRemembered) {
            return false;
        }
        remembered_[depth_++] = rules_;
        return true;
    }

    bool recall() {
        if (depth_ == 0) {
            return false;
        }
        rules_ = remembered_[--depth_];
        return true;
    }

    const CommonEntry& common_;
    uint64_t location_;
    const uint64_t pc_;
    FrameRules& rules_;
    FrameRules remembered_[kRemembered];
    unsigned depth_ = 0;
};

}  // namespace

bool run_frame_program(const CommonEntry& common, uint64_t start, uint64_t pc, ProgramBytes& from,
                       FrameRules& rules) {
    return FrameProgram(common, start, pc, rules).run(from);
}

}  // namespace numascape
