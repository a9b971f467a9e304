// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shard_writer.h"

namespace numascape {

// A word on a stack that the recorder replaced, such as a return address, and the original word.
struct HijackedWord {
    uint64_t word = 0;
    uint64_t original = 0;
    uint64_t address = 0;  // where it is; 0: anywhere
};

// No word is replaced, if there are none.
struct HijackedWords {
    const HijackedWord* words = nullptr;
    uint32_t count = 0;
};

// The words of a stack from its stack pointer upwards: in place where the recorder knows the stack,
// otherwise a copy.
class StackWords {
  public:
    StackWords(ThreadRecorder& recorder, uint64_t start, const HijackedWords& hijacked)
        : start_(start), hijacked_(hijacked) {
        if (start >= recorder.stack_start && start < recorder.stack_end) {
            words_ = reinterpret_cast<const uint64_t*>(start);
            count_ = (recorder.stack_end - start) / sizeof(uint64_t);
        } else {
            uint64_t (&copy)[kCopiedStackWords] = recorder.stack_copy;
            count_ = os::read_memory(start, copy, sizeof copy) / sizeof(uint64_t);
            words_ = copy;
        }
    }
    uint64_t start() const { return start_; }
    size_t count() const { return count_; }
    bool operator()(uint64_t address, uint64_t& to) const {
        const uint64_t index = (address - start_) / sizeof(uint64_t);
        if (address < start_ || index >= count_ || (address - start_) % sizeof(uint64_t) != 0) {
            return false;
        }
        to = original(address, words_[index]);
        return true;
    }
    // Copies words from this address on, as far as memory can be read: the mapping may continue
    // behind the stack, and the program may protect it there. Returns how many words.
    size_t copy(uint64_t address, uint64_t* to, size_t most) const {
        const uint64_t index = (address - start_) / sizeof(uint64_t);
        const size_t left = address < start_ || index >= count_ ? 0 : count_ - index;
        const size_t bytes = (left < most ? left : most) * sizeof(uint64_t);
        const size_t words = os::read_memory(address, to, bytes) / sizeof(uint64_t);
        for (size_t i = 0; i < words; ++i) {
            to[i] = original(address + i * sizeof(uint64_t), to[i]);
        }
        return words;
    }

  private:
    uint64_t original(uint64_t address, uint64_t word) const {
        for (uint32_t i = 0; i < hijacked_.count; ++i) {
            const HijackedWord& known = hijacked_.words[i];
            if (word == known.word && (known.address == 0 || known.address == address)) {
                return known.original;
            }
        }
        return word;
    }

    const uint64_t start_;
    const HijackedWords hijacked_;
    const uint64_t* words_;
    size_t count_;
};

}  // namespace numascape
