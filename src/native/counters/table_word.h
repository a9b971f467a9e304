// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace numascape {

// Where counting code finds its thread's table; a compiled program has one in each of its modules.
struct TableWord {
    const void* table;
    TableWord* next;
};

}  // namespace numascape
