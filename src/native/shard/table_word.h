// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace numascape {

// Where counting code finds the table of its thread; each compiled module has one.
struct TableWord {
    const void* table;
    TableWord* next;
};

}  // namespace numascape
