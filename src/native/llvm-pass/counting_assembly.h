// SPDX-License-Identifier: Apache-2.0
//
// The inline assembly that counts in compiled programs. It depends on the processor.
#pragma once

#include <cstdint>
#include <string>

namespace numascape::pass {

// Inline assembly in the form that LLVM's InlineAsm takes.
struct Assembly {
    std::string text;
    std::string operands;
};

// --- arch/

// Subtracts the third operand from the counter at the sum of the first and the second. If the
// counter runs out, calls kBlockPushedSymbol. Returns the table, the first operand, which the call
// may change.
Assembly count_block_assembly();
// Subtracts the third operand from the word that lies `within` bytes in the page counter at the sum
// of the first and the second. If the counter was zero, calls kTouchPushedSymbol with the fourth.
Assembly count_page_assembly(uint64_t within);

}  // namespace numascape::pass
