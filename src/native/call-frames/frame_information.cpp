// SPDX-License-Identifier: Apache-2.0
#include "frame_information.h"

#include <elf.h>

#include "program_bytes.h"

namespace numascape {
namespace {

// How a pointer is stored (Linux Standard Base 5.0, table 10-5 and 10-6).
constexpr uint8_t kFormat = 0x0f;
constexpr uint8_t kUnsigned2 = 0x02;
constexpr uint8_t kUnsigned4 = 0x03;
constexpr uint8_t kUnsigned8 = 0x04;
constexpr uint8_t kSigned2 = 0x0a;
constexpr uint8_t kSigned4 = 0x0b;
constexpr uint8_t kSigned8 = 0x0c;
constexpr uint8_t kAbsolute = 0x00;
constexpr uint8_t kRelativeToPlace = 0x10;
constexpr uint8_t kRelativeToTable = 0x30;

constexpr uint8_t kTableVersion = 1;
constexpr uint8_t kSearchable = kRelativeToTable | kSigned4;
constexpr uint32_t kLengthIn64Bits = 0xffffffff;
constexpr unsigned kMaxPrograms = 512;  // headers of an ELF file
constexpr unsigned kRemembered = 8;
constexpr unsigned kMaxInstructions = 1 << 16;

// Operations of expressions (DWARF 5, section 7.7.1).
constexpr uint8_t kRegisterPlus = 0x70;  // + the register's number
constexpr uint8_t kDereference = 0x06;

struct Register {
    enum class Kind : uint8_t { kSame, kUndefined, kAtFrameAddress, kAtFramePointer, kOther };
    Kind kind = Kind::kSame;
    int64_t offset = 0;
};

// The rules at one place of a function.
struct Rules {
    enum class Kind : uint8_t { kRegister, kAtFramePointer, kOther };
    Kind kind = Kind::kOther;
    uint64_t base = 0;  // the register
    int64_t offset = 0;
    Register frame_pointer;
    Register return_address;

    Register* of(uint64_t number) {
        return number == kFramePointer   ? &frame_pointer
               : number == kReturnColumn ? &return_address
                                         : nullptr;
    }
};

// A common information entry: what the functions of a compilation unit share.
struct Common {
    bool usable = false;
    bool has_augmentation = false;
    uint8_t pointers = kAbsolute;
    uint64_t code_factor = 1;
    int64_t data_factor = 1;
    Rules initial;
};

bool read_pointer(ProgramBytes& from, uint8_t encoding, uint64_t& value) {
    const uint64_t place = from.position();
    switch (encoding & kFormat) {
        case kAbsolute:
        case kUnsigned8:
        case kSigned8:
            value = from.value<uint64_t>();
            break;
        case kUnsigned2:
            value = from.value<uint16_t>();
            break;
        case kUnsigned4:
            value = from.value<uint32_t>();
            break;
        case kSigned2:
            value = static_cast<uint64_t>(int64_t{from.value<int16_t>()});
            break;
        case kSigned4:
            value = static_cast<uint64_t>(int64_t{from.value<int32_t>()});
            break;
        default:
            return false;
    }
    switch (encoding & ~kFormat) {
        case kAbsolute:
            return !from.failed();
        case kRelativeToPlace:
            value += place;
            return !from.failed();
        default:
            return false;
    }
}

// Runs the instructions of call frame information (DWARF 5, section 6.4.2) up to the code at `pc`.
class FrameProgram {
  public:
    FrameProgram(const Common& common, uint64_t start, uint64_t pc, Rules& rules)
        : common_(common), location_(start), pc_(pc), rules_(rules) {}

    // False if an instruction is not understood.
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
        if (Register* rule = rules_.of(number)) {
            *rule = {Register::Kind::kAtFrameAddress, offset};
        }
    }

    void set(uint64_t number, Register::Kind kind) {
        if (Register* rule = rules_.of(number)) {
            *rule = {kind, 0};
        }
    }

    void restore(uint64_t number) {
        Rules initial = common_.initial;
        if (Register* rule = rules_.of(number)) {
            *rule = *initial.of(number);
        }
    }

    void define(uint64_t base, int64_t offset) {
        rules_.kind = Rules::Kind::kRegister;
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
        rules_.kind = known ? Rules::Kind::kAtFramePointer : Rules::Kind::kOther;
        rules_.offset = offset;
    }

    void save_by_expression(ProgramBytes& from) {
        const uint64_t number = from.unsigned_number();
        int64_t offset = 0;
        const bool known = read_expression(from, false, offset);
        if (Register* rule = rules_.of(number)) {
            *rule = {known ? Register::Kind::kAtFramePointer : Register::Kind::kOther, offset};
        }
    }

    bool run_extended(uint8_t instruction, ProgramBytes& from) {
        uint64_t number = 0;
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
            case 0x05:  // offset_extended
                number = from.unsigned_number();
                save_at(number, signed_product(from.unsigned_number()));
                return true;
            case 0x06:  // restore_extended
                restore(from.unsigned_number());
                return true;
            case 0x07:  // undefined
                set(from.unsigned_number(), Register::Kind::kUndefined);
                return true;
            case 0x08:  // same_value
                set(from.unsigned_number(), Register::Kind::kSame);
                return true;
            case 0x09:  // register
                set(from.unsigned_number(), Register::Kind::kOther);
                from.unsigned_number();
                return true;
            case 0x0a:  // remember_state
                return remember();
            case 0x0b:  // restore_state
                return recall();
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
            case 0x10:  // expression
                save_by_expression(from);
                return true;
            case 0x11:  // offset_extended_sf
                number = from.unsigned_number();
                save_at(number, signed_product(static_cast<uint64_t>(from.signed_number())));
                return true;
            case 0x12:  // def_cfa_sf
                number = from.unsigned_number();
                define(number, signed_product(static_cast<uint64_t>(from.signed_number())));
                return true;
            case 0x13:  // def_cfa_offset_sf
                define(rules_.base, signed_product(static_cast<uint64_t>(from.signed_number())));
                return true;
            case 0x14:  // val_offset
            case 0x15:  // val_offset_sf
                set(from.unsigned_number(), Register::Kind::kOther);
                from.unsigned_number();
                return true;
            case 0x16:  // val_expression
                set(from.unsigned_number(), Register::Kind::kOther);
                from.skip(from.unsigned_number());
                return true;
            case 0x2e:  // GNU_args_size
                from.unsigned_number();
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

    const Common& common_;
    uint64_t location_;
    const uint64_t pc_;
    Rules& rules_;
    Rules remembered_[kRemembered];
    unsigned depth_ = 0;
};

// Where an entry that begins at `at` ends; 0 if it is not one. `at` becomes its contents' start.
uint64_t entry_end(uint64_t& at) {
    ProgramBytes from(at, at + sizeof(uint32_t));
    const auto bytes = from.value<uint32_t>();
    at += sizeof(uint32_t);
    return from.failed() || bytes == 0 || bytes == kLengthIn64Bits ? 0 : at + bytes;
}

// "zR" and the like: each letter says what follows. False if the entry is for signal handlers'
// frames, or is not understood.
bool read_augmentation(ProgramBytes& from, const char (&letters)[8], Common& common) {
    const uint64_t bytes = from.unsigned_number();
    const uint64_t end = from.position() + bytes;
    for (const char* letter = letters + 1; *letter != '\0'; ++letter) {
        uint64_t ignored = 0;
        switch (*letter) {
            case 'R':
                common.pointers = from.value<uint8_t>();
                break;
            case 'L':
                from.value<uint8_t>();
                break;
            case 'P':
                // Its value is not used, so what it is relative to does not matter.
                if (!read_pointer(from, from.value<uint8_t>() & kFormat, ignored)) {
                    return false;
                }
                break;
            default:
                return false;
        }
    }
    if (from.failed() || from.position() > end) {
        return false;
    }
    from.skip(end - from.position());
    return !from.failed();
}

Common read_common(uint64_t at) {
    Common common;
    const uint64_t end = entry_end(at);
    if (end == 0) {
        return common;
    }
    ProgramBytes from(at, end);
    const auto identifier = from.value<uint32_t>();
    const auto version = from.value<uint8_t>();
    if (identifier != 0 || (version != 1 && version != 3)) {
        return common;
    }
    char letters[8] = {};
    for (size_t i = 0;; ++i) {
        if (i == sizeof letters || from.failed()) {
            return common;
        }
        letters[i] = from.value<char>();
        if (letters[i] == '\0') {
            break;
        }
    }
    common.code_factor = from.unsigned_number();
    common.data_factor = from.signed_number();
    const uint64_t column = version == 1 ? from.value<uint8_t>() : from.unsigned_number();
    common.has_augmentation = letters[0] == 'z';
    if (column != kReturnColumn || (letters[0] != '\0' && !common.has_augmentation) ||
        (common.has_augmentation && !read_augmentation(from, letters, common))) {
        return common;
    }
    const Common initial = common;
    FrameProgram program(initial, 0, ~uint64_t{0}, common.initial);
    common.usable = program.run(from);
    return common;
}

CallFrameRule simplified(const Rules& rules) {
    using enum Register::Kind;
    CallFrameRule rule;
    if (rules.return_address.kind == kUndefined) {
        rule.frame_address = FrameAddress::kOutermost;
        return rule;
    }
    rule.offset = static_cast<int32_t>(rules.offset);
    rule.saved_offset = static_cast<int16_t>(rules.frame_pointer.offset);
    const bool fits =
        rule.offset == rules.offset && rule.saved_offset == rules.frame_pointer.offset;
    const bool returns = rules.return_address.kind == kAtFrameAddress &&
                         rules.return_address.offset == kReturnOffset;
    if (!fits || !returns || rules.frame_pointer.kind == kOther) {
        return {};
    }
    if (rules.frame_pointer.kind == kAtFrameAddress) {
        rule.saved = SavedFramePointer::kAtFrameAddress;
    } else if (rules.frame_pointer.kind == kAtFramePointer) {
        rule.saved = SavedFramePointer::kAtFramePointer;
    }
    if (rules.kind == Rules::Kind::kAtFramePointer) {
        rule.frame_address = FrameAddress::kAtFramePointer;
    } else if (rules.kind == Rules::Kind::kRegister && rules.base == kStackPointer) {
        rule.frame_address = FrameAddress::kFromStackPointer;
    } else if (rules.kind == Rules::Kind::kRegister && rules.base == kFramePointer) {
        rule.frame_address = FrameAddress::kFromFramePointer;
    }
    return rule.frame_address == FrameAddress::kUnknown ? CallFrameRule{} : rule;
}

// The description (DWARF: frame description entry) at `at`, if it covers `pc`.
CallFrameRule read_description(uint64_t at, uint64_t pc) {
    const uint64_t end = entry_end(at);
    if (end == 0) {
        return {};
    }
    ProgramBytes from(at, end);
    const auto distance = from.value<uint32_t>();
    if (distance == 0) {
        return {};
    }
    const Common common = read_common(at - distance);
    uint64_t start = 0;
    uint64_t bytes = 0;
    if (!common.usable || !read_pointer(from, common.pointers, start) ||
        !read_pointer(from, common.pointers & kFormat, bytes) || pc - start >= bytes) {
        return {};
    }
    if (common.has_augmentation) {
        from.skip(from.unsigned_number());
    }
    Rules rules = common.initial;
    FrameProgram program(common, start, pc, rules);
    return program.run(from) ? simplified(rules) : CallFrameRule{};
}

// The search table of .eh_frame_hdr: pairs (start of a function, its description), ascending, both
// relative to the section.
struct SearchTable {
    uint64_t section;
    uint64_t entries = 0;
    uint32_t count = 0;

    explicit SearchTable(uint64_t table) : section(table) {
        ProgramBytes from(table, table + 64);
        const auto version = from.value<uint8_t>();
        const auto frames_encoding = from.value<uint8_t>();
        const auto count_encoding = from.value<uint8_t>();
        const auto encoding = from.value<uint8_t>();
        uint64_t ignored = 0;
        uint64_t functions = 0;
        if (version != kTableVersion || encoding != kSearchable ||
            !read_pointer(from, frames_encoding & kFormat, ignored) ||
            !read_pointer(from, count_encoding, functions)) {
            return;
        }
        entries = from.position();
        count = static_cast<uint32_t>(functions);
    }

    // The description of the last function that starts at `pc` or before it; 0 if there is none.
    uint64_t find(uint64_t pc) const {
        struct Entry {
            int32_t start;
            int32_t description;
        };
        const auto wanted = static_cast<int64_t>(pc - section);
        uint64_t found = 0;
        for (uint32_t low = 0, high = count; low < high;) {
            const uint32_t middle = low + (high - low) / 2;
            Entry entry{};
            if (os::read_memory(entries + middle * sizeof entry, &entry, sizeof entry) !=
                sizeof entry) {
                return 0;
            }
            if (entry.start <= wanted) {
                found = section + static_cast<uint64_t>(int64_t{entry.description});
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return found;
    }
};

}  // namespace

ModuleFrames find_frame_information(uint64_t start, uint64_t end) {
    ModuleFrames module{start, end, 0};
    Elf64_Ehdr header{};
    if (os::read_memory(start, &header, sizeof header) != sizeof header ||
        __builtin_memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(Elf64_Phdr)) {
        return module;
    }
    uint64_t lowest = ~uint64_t{0};
    uint64_t table = 0;
    for (unsigned i = 0; i < header.e_phnum && i < kMaxPrograms; ++i) {
        Elf64_Phdr program{};
        const uint64_t at = start + header.e_phoff + i * sizeof program;
        if (os::read_memory(at, &program, sizeof program) != sizeof program) {
            return module;
        }
        if (program.p_type == PT_LOAD && program.p_vaddr < lowest) {
            lowest = program.p_vaddr;
        }
        if (program.p_type == PT_GNU_EH_FRAME) {
            table = program.p_vaddr;
        }
    }
    const uint64_t address = start + (table - (lowest & ~(kPageBytes - 1)));
    if (table != 0 && address > start && address < end) {
        module.table = address;
    }
    return module;
}

CallFrameRule read_call_frame_rule(const ModuleFrames& module, uint64_t pc) {
    const SearchTable table(module.table);
    const uint64_t description = table.find(pc);
    return description >= module.start && description < module.end
               ? read_description(description, pc)
               : CallFrameRule{};
}

}  // namespace numascape
