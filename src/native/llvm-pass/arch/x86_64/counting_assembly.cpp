// SPDX-License-Identifier: Apache-2.0
#include "counting_assembly.h"

#include "abi.h"

namespace numascape::pass {
namespace {

// The flags that the arithmetic and the calls change, besides the operands.
constexpr const char* kChanged = ",~{dirflag},~{fpsr},~{flags}";

}  // namespace

Assembly count_block_assembly() {
    return {
        "subq $3, ($0,$2)\n\tjb 3f\n4:\n\t.subsection 1\n"
        "3:\n\tpushq $0\n\tpushq $2\n\tcall " +
            std::string(kBlockPushedSymbol) +
            "\n\tleaq 8(%rsp), %rsp\n\tpopq $0\n\tjmp 4b\n\t.subsection 0",
        std::string("=r,0,r,er") + kChanged};
}

Assembly count_page_assembly(uint64_t within) {
    return {"subq $2, " + std::to_string(within) +
                "($0,$1)\n\tjb 3f\n4:\n\t.subsection 1\n"
                "3:\n\tpushq $1\n\tpushq $0\n\tpushq $3\n\tleaq 4b(%rip), $0\n\tpushq $0\n\tcall " +
                kTouchPushedSymbol +
                "\n\tleaq 16(%rsp), %rsp\n\tpopq $0\n\tpopq $1\n\tjmp 4b\n\t.subsection 0",
            std::string("r,r,er,ri") + kChanged};
}

}  // namespace numascape::pass
