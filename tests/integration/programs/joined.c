// SPDX-License-Identifier: Apache-2.0
//
// Accesses at constant distances from each other, which a compiler that counts can count together.
// No function calls another, so that nothing but a mark can change the phase.
#include <numascape/phase.h>
#include <stdlib.h>

enum { COUNT = 4096, ROUNDS = 3 };

// 200 bytes: fields of most lie on one page, of some on two.
struct Cell {
    double first, second, third, other[20], last, unused;
};
struct Wide {
    double used[4], unused[4];
};

// The order of the cells is not known before.
__attribute__((noinline)) static void visit(struct Cell* cells, const int* order) {
    for (int i = 0; i < COUNT; ++i) {
        struct Cell* cell = &cells[order[i]];
        cell->last = i;            // line: last
        cell->first = 1;           // line: first
        cell->second = 2;          // line: second
        cell->third = cell->last;  // line: third
    }
}

// `scale` is read again each time, because the stores might change it.
__attribute__((noinline)) static void move(double (*points)[3], const double* scale) {
    for (int i = 0; i < COUNT; ++i) {
        points[i][0] += scale[0];  // line: x
        points[i][1] += scale[1];  // line: y
        points[i][2] += scale[2];  // line: z
    }
}

__attribute__((noinline)) static void fill(struct Wide* wide) {
    for (int i = 0; i < COUNT; ++i) {
        wide[i].used[0] = i;  // line: fill0
        wide[i].used[1] = i;  // line: fill1
        wide[i].used[2] = i;  // line: fill2
        wide[i].used[3] = i;  // line: fill3
    }
}

// Three of 25 words in turn: those of some cells lie on two pages.
__attribute__((noinline)) static void sweep(struct Cell* swept) {
    for (int i = 0; i < COUNT; ++i) {
        swept[i].first = i;   // line: sweep0
        swept[i].second = i;  // line: sweep1
        swept[i].third = i;   // line: sweep2
    }
}

// Short rows, of which some begin on one page and end on another.
__attribute__((noinline)) static void eight_forward(double (*row)[3]) {
    for (int i = 0; i < 8; ++i) {
        row[i][0] = i;  // line: forward0
        row[i][1] = i;  // line: forward1
        row[i][2] = i;  // line: forward2
    }
}

__attribute__((noinline)) static void eight_backward(double (*row)[3]) {
    for (int i = 7; i >= 0; --i) {
        row[i][0] = i;  // line: backward0
        row[i][1] = i;  // line: backward1
        row[i][2] = i;  // line: backward2
    }
}

// Rows of a plane in turn, each from its end.
__attribute__((noinline)) static void turn(double (*plane)[64]) {
    for (int row = 0; row < COUNT / 64; ++row) {
        for (int i = 60; i >= 0; i -= 4) {
            plane[row][i] = row;          // line: turn0
            plane[row][i + 1] = row + 1;  // line: turn1
            plane[row][i + 2] = row + 2;  // line: turn2
            plane[row][i + 3] = row + 3;  // line: turn3
        }
    }
}

__attribute__((noinline)) static void mark(double* one, double* two) {
    numascape_phase("one");
    for (int i = 0; i < COUNT; ++i) one[i] += 1;
    numascape_phase("two");
    for (int i = 0; i < COUNT; ++i) two[i] += 1;
    for (int i = 0; i < 4; ++i) {
        numascape_phase(i % 2 ? "two" : "one");
        one[i * 512] += 1;
    }
}

int main(void) {
    struct Cell* cells = aligned_alloc(4096, COUNT * sizeof *cells);
    double (*points)[3] = aligned_alloc(4096, COUNT * sizeof *points);
    struct Cell* swept = aligned_alloc(4096, COUNT * sizeof *swept);
    struct Wide* wide = aligned_alloc(4096, COUNT * sizeof *wide);
    double (*plane)[64] = aligned_alloc(4096, COUNT * sizeof(double));
    double* forward = aligned_alloc(4096, COUNT * 24 + 4096);
    double* backward = aligned_alloc(4096, COUNT * 24 + 4096);
    double* one = aligned_alloc(4096, COUNT * sizeof *one);
    double* two = aligned_alloc(4096, COUNT * sizeof *two);
    double* scale = aligned_alloc(4096, 4096);
    for (int i = 0; i < 512; ++i) scale[i] = i;
    int* order = aligned_alloc(4096, COUNT * sizeof *order);
    for (int i = 0; i < COUNT; ++i) order[i] = (int)(i * 2654435761U % COUNT);
    for (int round = 0; round < ROUNDS; ++round) {
        visit(cells, order);
        move(points, scale);
        fill(wide);
        sweep(swept);
        turn(plane);
        for (int i = 0; i < COUNT; i += 8) {
            eight_forward((double (*)[3])(forward + 1) + i);  // so that pages end anywhere
            eight_backward((double (*)[3])(backward + 1) + i);
        }
        mark(one, two);
    }
    return 0;
}
