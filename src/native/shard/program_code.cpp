// SPDX-License-Identifier: Apache-2.0
#include "program_code.h"

#include "os.h"
#include "pages.h"
#include "private_memory.h"

namespace numascape {

bool ProgramCode::open() {
    pages_ = map_private<std::atomic<uint8_t>>(kWindowPages);
    return pages_ != nullptr && rules_.open();
}

void ProgramCode::close() {
    os::unmap(pages_, kWindowPages);
    rules_.close();
}

uint8_t ProgramCode::flags_of(uint64_t address) const {
    return pages_[window_page(address)].load(std::memory_order_relaxed);
}

void ProgramCode::add_code(uint64_t start, uint64_t end, bool present) {
    Span& span = spans_[start < kLibraries ? 0 : 1];
    const uint64_t last = span.bytes == 0 ? end : span.start + span.bytes;
    span.start = start < span.start ? start : span.start;
    span.bytes = (end > last ? end : last) - span.start;
    for (uint64_t at = start & ~(kPageBytes - 1); at < end; at += kPageBytes) {
        std::atomic<uint8_t>& page = pages_[window_page(at)];
        const uint8_t before = page.load(std::memory_order_relaxed);
        if (present != ((before & 1) != 0)) {
            page.store(static_cast<uint8_t>(before + 1), std::memory_order_relaxed);
        }
    }
    changes_.fetch_add(1, std::memory_order_release);
}

}  // namespace numascape
