// SPDX-License-Identifier: Apache-2.0
#include "frame_information.h"

#include "frame_program.h"
#include "program_headers.h"
#include "stored_pointer.h"

namespace numascape {
namespace {

constexpr uint8_t kTableVersion = 1;
constexpr uint8_t kSearchable = pointer_encoding::kRelativeToTable | pointer_encoding::kSigned4;
constexpr uint32_t kLengthIn64Bits = 0xffffffff;

// Returns the end of the entry at `at`, or 0 if it is not a valid entry. Moves `at` to the contents
// of the entry.
uint64_t entry_end(uint64_t& at) {
    ProgramBytes from(at, at + sizeof(uint32_t));
    const auto bytes = from.value<uint32_t>();
    at += sizeof(uint32_t);
    return from.failed() || bytes == 0 || bytes == kLengthIn64Bits ? 0 : at + bytes;
}

// Reads the letters "zR" and the like: each says what follows. False if the entry is for the frames
// of signal handlers, or if a letter is unknown.
bool read_augmentation(ProgramBytes& from, const char (&letters)[8], CommonEntry& common) {
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
                // The pointer is only skipped, so the base of a relative pointer does not matter.
                if (!read_pointer(from, from.value<uint8_t>() & pointer_encoding::kFormat,
                                  ignored)) {
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

CommonEntry read_common(uint64_t at) {
    CommonEntry common;
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
    const CommonEntry initial = common;
    common.usable = run_frame_program(initial, 0, ~uint64_t{0}, from, common.initial);
    return common;
}

CallFrameRule simplified(const FrameRules& rules) {
    using enum RegisterRule::Kind;
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
    if (rules.kind == FrameRules::Kind::kAtFramePointer) {
        rule.frame_address = FrameAddress::kAtFramePointer;
    } else if (rules.kind == FrameRules::Kind::kRegister && rules.base == kStackPointer) {
        rule.frame_address = FrameAddress::kFromStackPointer;
    } else if (rules.kind == FrameRules::Kind::kRegister && rules.base == kFramePointer) {
        rule.frame_address = FrameAddress::kFromFramePointer;
    }
    return rule.frame_address == FrameAddress::kUnknown ? CallFrameRule{} : rule;
}

// A description (DWARF: frame description entry), up to its program.
struct Description {
    CommonEntry common;
    uint64_t start = 0;  // of the code
    uint64_t bytes = 0;
};

// False if `from` holds no description of `pc`; `at` is its address.
bool read_description(uint64_t at, uint64_t pc, ProgramBytes& from, Description& read) {
    const auto distance = from.value<uint32_t>();
    if (distance == 0) {
        return false;
    }
    read.common = read_common(at - distance);
    return read.common.usable && read_pointer(from, read.common.pointers, read.start) &&
           read_pointer(from, read.common.pointers & pointer_encoding::kFormat, read.bytes) &&
           pc - read.start < read.bytes;
}

CallFrameRule read_rule(uint64_t at, uint64_t pc) {
    const uint64_t end = entry_end(at);
    ProgramBytes from(at, end);
    Description of;
    if (end == 0 || !read_description(at, pc, from, of)) {
        return {};
    }
    if (of.common.has_augmentation) {
        from.skip(from.unsigned_number());
    }
    FrameRules rules = of.common.initial;
    return run_frame_program(of.common, of.start, pc, from, rules) ? simplified(rules)
                                                                   : CallFrameRule{};
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
            !read_pointer(from, frames_encoding & pointer_encoding::kFormat, ignored) ||
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
    ProgramHeaders headers;
    if (read_program_headers(start, headers) && headers.frames > start && headers.frames < end) {
        module.table = headers.frames;
    }
    return module;
}

CallFrameRule read_call_frame_rule(const ModuleFrames& module, uint64_t pc) {
    const uint64_t description = SearchTable(module.table).find(pc);
    return description >= module.start && description < module.end ? read_rule(description, pc)
                                                                   : CallFrameRule{};
}

bool find_described_code(const ModuleFrames& module, uint64_t pc, uint64_t& start, uint64_t& end) {
    uint64_t at = SearchTable(module.table).find(pc);
    const uint64_t entry = at >= module.start && at < module.end ? entry_end(at) : 0;
    ProgramBytes from(at, entry);
    Description found;
    if (entry == 0 || !read_description(at, pc, from, found)) {
        return false;
    }
    start = found.start;
    end = found.start + found.bytes;
    return true;
}

}  // namespace numascape
