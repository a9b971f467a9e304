// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "dr_api.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

// Equal values are shared, because a block is built again when its code was flushed, and whenever a
// fault or a stopped thread in it is translated. A program that handles faults does this any number
// of times.
struct KeptValue {
    uint64_t hash;
    uint64_t bytes;
    // The value follows.
};

// Open addressing: each KiB of code has one page of the table, so that a program uses few pages.
// The hash of a value says where in the page it is. Once three quarters of the table are used, no
// more values are shared.
constexpr uint64_t kPlaces = 1 << 22;
constexpr uint64_t kPlacesTogether = 512;
KeptValue** places = nullptr;
uint64_t used = 0;
SpinLock lock;

uint64_t hash_of(const void* value, size_t bytes) {
    uint64_t hash = bytes;
    const auto* at = static_cast<const uint8_t*>(value);
    for (size_t i = 0; i < bytes; i += sizeof hash) {
        uint64_t word = 0;
        memcpy(&word, at + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

uint64_t first_place(const void* value, uint64_t hash) {
    const uint64_t pc = static_cast<const PlaceInfo*>(value)->pc;
    return (pc / 1024 * kPlacesTogether + hash % kPlacesTogether) % kPlaces;
}

constexpr size_t kBlockBytes = 1 << 20;
struct alignas(16) MemoryBlock {
    MemoryBlock* before;
};
MemoryBlock* blocks = nullptr;

// Memory that exists as long as the process, or until we leave it.
void* permanent(size_t bytes) {
    static char* next = nullptr;
    static size_t left = 0;
    bytes = (bytes + 15) & ~size_t{15};
    if (bytes > left) {
        auto* block = static_cast<MemoryBlock*>(os::map_sparse(kBlockBytes));
        DR_ASSERT(!os::failed(block) && bytes + sizeof *block <= kBlockBytes);
        block->before = blocks;
        blocks = block;
        next = reinterpret_cast<char*>(block + 1);
        left = kBlockBytes - sizeof *block;
    }
    void* result = next;
    next += bytes;
    left -= bytes;
    return result;
}

}  // namespace

const void* keep_value(const void* value, size_t bytes) {
    const uint64_t hash = hash_of(value, bytes);
    SpinGuard guard(lock);
    if (places == nullptr) {
        places = static_cast<KeptValue**>(os::map_sparse(kPlaces * sizeof(KeptValue*)));
        DR_ASSERT(!os::failed(places));
    }
    uint64_t at = first_place(value, hash);
    for (; places[at] != nullptr; at = (at + 1) % kPlaces) {
        const KeptValue* kept = places[at];
        if (kept->hash == hash && kept->bytes == bytes && memcmp(kept + 1, value, bytes) == 0) {
            return kept + 1;
        }
    }
    auto* kept = static_cast<KeptValue*>(permanent(sizeof(KeptValue) + bytes));
    *kept = {hash, bytes};
    memcpy(kept + 1, value, bytes);
    if (used < kPlaces / 4 * 3) {
        places[at] = kept;
        ++used;
    }
    return kept + 1;
}

void kept_values_exit() {
    while (blocks != nullptr) {
        MemoryBlock* block = blocks;
        blocks = block->before;
        os::unmap(block, kBlockBytes);
    }
    if (places != nullptr) {
        os::unmap(places, kPlaces * sizeof(KeptValue*));
    }
}

void kept_values_after_fork() {
    lock.reset();
}

}  // namespace numascape
