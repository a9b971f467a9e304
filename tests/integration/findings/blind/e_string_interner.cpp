// SPDX-License-Identifier: Apache-2.0
// The symbol table of a compiler. Main interns all identifiers first: their characters go to one
// arena, which grows, and a hash table has their places. Then the threads look up identifiers, each
// those of its own functions, at random places. Nothing is written any more: each node could have a
// copy of table and arena. Without copies they should be spread over the nodes.
// label: slots = shared, read-mostly
// action: slots = copy or spread
// harm: slots = local
// label: arena = shared, read-mostly
// action: arena = copy or spread
// harm: arena = local
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

constexpr uint32_t kIdentifiers = 300000;
constexpr uint32_t kLookups = 1200000;
constexpr size_t kSlots = 1 << 20;

// An identifier, written into a buffer on the stack.
struct Identifier {
    char text[20];
    size_t length = 0;

    explicit Identifier(uint32_t number) {
        uint64_t letters = (number + 1) * 0x9e3779b97f4a7c15u;
        size_t wanted = 12 + letters % 8;
        for (; length < wanted; length++, letters = letters / 26 + (letters << 50)) {
            text[length] = static_cast<char>('a' + letters % 26);
        }
    }
    std::string_view view() const { return {text, length}; }
};

struct Slot {
    uint32_t hash = 0;
    uint32_t place = 0;
    uint32_t length = 0;
};

struct Interner {
    std::vector<Slot> slots = std::vector<Slot>(kSlots);
    std::vector<char> arena;

    static uint32_t hash_of(std::string_view text) {
        uint32_t hash = 2166136261u;
        for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
        return hash ^ (hash >> 15);
    }

    bool same(const Slot& slot, uint32_t hash, std::string_view text) const {
        if (slot.hash != hash || slot.length != text.size()) return false;
        for (size_t i = 0; i < text.size(); i++) {
            if (arena[slot.place + i] != text[i]) return false;
        }
        return true;
    }

    void intern(std::string_view text) {
        uint32_t hash = hash_of(text);
        size_t at = hash % kSlots;
        while (slots[at].length != 0) {
            if (same(slots[at], hash, text)) return;
            at = (at + 1) % kSlots;
        }
        slots[at] = {hash, static_cast<uint32_t>(arena.size()), static_cast<uint32_t>(text.size())};
        arena.insert(arena.end(), text.begin(), text.end());
    }

    uint32_t find(std::string_view text) const {
        uint32_t hash = hash_of(text);
        for (size_t at = hash % kSlots; slots[at].length != 0; at = (at + 1) % kSlots) {
            if (same(slots[at], hash, text)) return slots[at].place;
        }
        return 0;
    }
};

static uint64_t compile(const Interner& interner, uint32_t first, uint32_t last) {
    uint64_t sum = 0;
    for (uint32_t lookup = first; lookup < last; lookup++) {
        uint32_t number =
            static_cast<uint32_t>((lookup * 0xd1342543de82ef95u) >> 40) % kIdentifiers;
        sum += interner.find(Identifier(number).view());
    }
    return sum;
}

int main(int argc, char** argv) {
    const uint32_t threads = argc > 1 ? std::atoi(argv[1]) : 4;
    if (threads < 1) return 2;
    Interner interner;
    for (uint32_t number = 0; number < kIdentifiers; number++) {
        interner.intern(Identifier(number).view());
    }
    std::vector<uint64_t> sums(threads);
    std::vector<std::thread> compilers;
    for (uint32_t t = 0; t < threads; t++) {
        compilers.emplace_back([&, t] {
            uint64_t share = kLookups / threads;
            sums[t] = compile(interner, static_cast<uint32_t>(share * t),
                              static_cast<uint32_t>(share * (t + 1)));
        });
    }
    uint64_t sum = 0;
    for (uint32_t t = 0; t < threads; t++) {
        compilers[t].join();
        sum += sums[t];
    }
    std::printf("%zu characters, sum of places %llu\n", interner.arena.size(),
                static_cast<unsigned long long>(sum));
}
