// SPDX-License-Identifier: Apache-2.0
#include "saved_state.h"

#include "os.h"

namespace numascape {
namespace {

constexpr uint64_t kLegacyBytes = 512;
constexpr uint64_t kHeaderBytes = 64;

struct Component {
    uint32_t offset;
    uint32_t bytes;
    bool aligned;  // to 64 bytes, in the compacted format
};
Component components[32];
uint64_t enabled = 0;  // XCR0

struct CpuidResult {
    uint32_t a, b, c, d;
};
CpuidResult cpuid(uint32_t leaf, uint32_t subleaf) {
    CpuidResult result{};
    __asm__("cpuid"
            : "=a"(result.a), "=b"(result.b), "=c"(result.c), "=d"(result.d)
            : "a"(leaf), "c"(subleaf));
    return result;
}

}  // namespace

void saved_state_init() {
    constexpr uint32_t kOsUsesXsave = 1u << 27;
    if ((cpuid(1, 0).c & kOsUsesXsave) == 0) {
        return;
    }
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    enabled = low;
    for (uint32_t i = 2; i < 32; ++i) {
        if ((enabled >> i & 1) != 0) {
            const CpuidResult found = cpuid(0xd, i);
            components[i] = {found.b, found.a, (found.c & 2) != 0};
        }
    }
}

uint32_t state_extents(uint64_t area, uint64_t asked, bool compacted,
                       StateExtent (&found)[kMaxStateExtents]) {
    uint32_t count = 0;
    const auto add = [&](uint64_t offset, uint64_t bytes) {
        found[count++] = {area + offset, bytes};
    };
    asked &= enabled;
    add(kLegacyBytes, kHeaderBytes);
    if ((asked & 1) != 0) {
        add(0, 160);  // x87
    }
    if ((asked & 2) != 0) {
        add(160, 256);  // xmm0-15
    }
    if ((asked & 6) != 0) {
        add(24, 8);  // mxcsr
    }
    uint64_t next = kLegacyBytes + kHeaderBytes;
    for (uint32_t i = 2; i < 32; ++i) {
        if ((asked >> i & 1) != 0) {
            next = components[i].aligned ? (next + 63) & ~uint64_t{63} : next;
            add(compacted ? next : components[i].offset, components[i].bytes);
            next += components[i].bytes;
        }
    }
    return count;
}

bool is_compacted(uint64_t area) {
    uint64_t format = 0;  // if there is no memory, the instruction faults
    os::read_memory(area + kLegacyBytes + 8, &format, sizeof format);
    return format >> 63 != 0;
}

}  // namespace numascape
