// SPDX-License-Identifier: Apache-2.0
// Counts the ways to place N queens by recursion, each call with the board on its own stack frame:
// almost all accesses are to the stack. Usage: recursion [N]
#include <stdbool.h>
#include <string.h>

#include "size.h"

enum { MAX_N = 13 };

struct board {
    signed char column_of_row[MAX_N];
    bool column_taken[MAX_N], rising_taken[2 * MAX_N], falling_taken[2 * MAX_N];
};

static long placements(struct board board, int row, int n) {
    if (row == n) return 1;
    long count = 0;
    for (int column = 0; column < n; column++) {
        if (board.column_taken[column] || board.rising_taken[row + column] ||
            board.falling_taken[row - column + n])
            continue;
        struct board next = board;
        next.column_of_row[row] = (signed char)column;
        next.column_taken[column] = true;
        next.rising_taken[row + column] = true;
        next.falling_taken[row - column + n] = true;
        count += placements(next, row + 1, n);
    }
    return count;
}

int main(int argc, char** argv) {
    static const long known[MAX_N + 1] = {1,  1,  0,   0,   2,    10,    4,
                                          40, 92, 352, 724, 2680, 14200, 73712};
    long n = size_argument(argc, argv, 1, 13);
    if (n > MAX_N) {
        fprintf(stderr, "recursion: N is at most %d\n", MAX_N);
        return 2;
    }
    struct board empty;
    memset(&empty, 0, sizeof empty);
    long count = placements(empty, 0, (int)n);
    printf("recursion: %ld queens, %ld placements\n", n, count);
    return count == known[n] ? 0 : 1;
}
