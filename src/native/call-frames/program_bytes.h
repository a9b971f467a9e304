// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "os.h"

namespace numascape {

// Reads [at, end) of the program's memory forwards. Behind the end, and where there is no memory,
// everything is 0 and failed() is true.
class ProgramBytes {
  public:
    ProgramBytes(uint64_t at, uint64_t end) : at_(at), end_(end) {}

    uint64_t position() const { return at_; }
    bool at_end() const { return failed_ || at_ >= end_; }
    bool failed() const { return failed_; }
    void skip(uint64_t bytes) {
        if (bytes > end_ - at_ || at_ > end_) {
            fail();
        } else {
            at_ += bytes;
        }
    }

    template <typename T>
    T value() {
        uint64_t result = 0;
        for (size_t i = 0; i < sizeof(T); ++i) {
            result |= uint64_t{byte()} << 8 * i;
        }
        return static_cast<T>(result);
    }

    // LEB128 (DWARF 5, section 7.6).
    uint64_t unsigned_number() { return number().bits; }
    int64_t signed_number() {
        const Number read = number();
        const uint64_t sign = read.negative && read.shift < 64 ? ~uint64_t{0} << read.shift : 0;
        return static_cast<int64_t>(read.bits | sign);
    }

  private:
    struct Number {
        uint64_t bits;
        unsigned shift;
        bool negative;  // if it is a signed number
    };

    uint8_t byte() {
        if (at_ >= end_) {
            fail();
        }
        if (failed_) {
            return 0;
        }
        if (at_ < first_ || at_ - first_ >= kept_) {
            const uint64_t left = end_ - at_;
            first_ = at_;
            kept_ = os::read_memory(at_, buffer_, left < sizeof buffer_ ? left : sizeof buffer_);
            if (kept_ == 0) {
                fail();
                return 0;
            }
        }
        return buffer_[at_++ - first_];
    }

    Number number() {
        Number result{0, 0, false};
        uint8_t last = 0;
        do {
            last = byte();
            if (result.shift < 64) {
                result.bits |= uint64_t{last & 0x7fu} << result.shift;
            }
            result.shift += 7;
        } while ((last & 0x80) != 0);
        result.negative = (last & 0x40) != 0;
        return result;
    }

    void fail() {
        failed_ = true;
        at_ = end_;
    }

    uint64_t at_;
    uint64_t end_;
    uint64_t first_ = 0;  // address of the first byte in the buffer
    size_t kept_ = 0;
    bool failed_ = false;
    uint8_t buffer_[256];
};

}  // namespace numascape
