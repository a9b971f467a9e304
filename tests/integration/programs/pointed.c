// SPDX-License-Identifier: Apache-2.0
// Makes memory to which global variables point, prints where it is, and waits for its input to end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MIB = 1 << 20 };

struct state {
    double* first;
    long steps;
};

double* grid;           // a mapping
double* joined;         // a mapping that the kernel joins with the block of malloc below it
static double* block;   // of malloc
double* one_name;       // two variables: no name
double* other_name;     // see one_name
void* aligned;          // begins some pages behind the start of its mapping
unsigned long number;   // an address, but not a pointer
struct state state;     // a pointer, but not of the variable
double* middle;         // not the start of a block
const char* text = "";  // of the program's data
double* late;           // its page is never touched

static void* filled(void* start, size_t bytes) {
    memset(start, 1, bytes);
    return start;
}

static void show(const char* name, const void* start, size_t bytes) {
    printf("%s %p %zu\n", name, start, bytes);
}

int main(void) {
    static double* inside;
    // Between two pages without access, no other mapping can be joined with it.
    char* room = mmap(NULL, 6 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED || mprotect(room + MIB, 4 * MIB, PROT_READ | PROT_WRITE) != 0) return 1;
    grid = filled(room + MIB, 4 * MIB);
    // Mappings without hints are made from higher to lower addresses.
    joined = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (joined == MAP_FAILED) return 1;
    filled(joined, 4 * MIB);
    block = filled(malloc(3 * MIB), 3 * MIB);
    one_name = other_name = filled(malloc(3 * MIB), 3 * MIB);
    aligned = filled(aligned_alloc(MIB, 3 * MIB), 3 * MIB);
    number = (unsigned long)filled(malloc(3 * MIB), 3 * MIB);
    state.first = filled(malloc(3 * MIB), 3 * MIB);
    middle = (double*)filled(malloc(3 * MIB), 3 * MIB) + 1024;
    inside = filled(malloc(3 * MIB), 3 * MIB);
    show("grid", grid, 4 * MIB);
    show("joined", joined, 4 * MIB);
    show("block", block, 3 * MIB);
    show("aligned", aligned, 3 * MIB);
    show("inside", inside, 3 * MIB);
    fflush(stdout);
    return getchar() == EOF ? 0 : 1;
}
