// SPDX-License-Identifier: Apache-2.0
//
// DynamoRIO cannot copy an instruction that it cannot decode. It raises SIGILL there, whether or
// not the processor has the instruction. We write a line about this to standard error.
#include "undecoded.h"

#include <signal.h>

#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

constexpr unsigned kMaxBytes = os::kMaxInstructionBytes;

bool decodable(void* drcontext, const uint8_t* bytes, uint64_t pc) {
    instr_t instruction;
    instr_init(drcontext, &instruction);
    const bool decoded = decode_from_copy(drcontext, const_cast<byte*>(bytes),
                                          reinterpret_cast<byte*>(pc), &instruction) != nullptr;
    instr_free(drcontext, &instruction);
    return decoded;
}

// The place of code, as `file+offset`; nothing for code that is in no file.
void place_of(uint64_t pc, char (&text)[320]) {
    text[0] = '\0';
    module_data_t* module = dr_lookup_module(reinterpret_cast<byte*>(pc));
    if (module != nullptr) {
        const char* name = dr_module_preferred_name(module);
        dr_snprintf(
            text, sizeof text, " (%s+0x%llx)", name != nullptr ? name : "?",
            static_cast<unsigned long long>(pc - reinterpret_cast<uint64_t>(module->start)));
        text[sizeof text - 1] = '\0';
        dr_free_module_data(module);
    }
}

}  // namespace

void tell_of_undecoded(void* drcontext, uint64_t pc) {
    static std::atomic<bool> told{false};
    // There may be no memory behind the instruction.
    uint8_t bytes[kMaxBytes + 1] = {};
    const size_t got = os::read_memory(pc, bytes, kMaxBytes);
    if (got == 0 || decodable(drcontext, bytes, pc) || told.exchange(true)) {
        return;
    }
    char hexadecimal[3 * kMaxBytes + 1] = "";
    for (unsigned i = 0; i < 8 && i < got; ++i) {
        dr_snprintf(hexadecimal + 3 * i, 4, " %02x", bytes[i]);
    }
    char place[320];
    place_of(pc, place);
    dr_fprintf(
        STDERR,
        "numascape: the binary recorder cannot decode the instruction%s at 0x%llx%s, and the "
        "program gets SIGILL; record with --recorder faults, or let the program use older "
        "instructions\n",
        hexadecimal, static_cast<unsigned long long>(pc), place);
}

}  // namespace numascape
