// SPDX-License-Identifier: Apache-2.0
// first_block: reads a small vector, the program's first block, many times. On the heap, it follows
// the reserve that the C++ library allocates for exceptions when memory is exhausted.
#include <vector>

static volatile long sum;

int main() {
    const std::vector<long> query(32, 3);
    const volatile long* words = query.data();
    for (int round = 0; round < 100000; round++) {
        for (int k = 0; k < 32; k++) sum = words[k];
    }
    return 0;
}
