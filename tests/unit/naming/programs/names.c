// SPDX-License-Identifier: Apache-2.0
//
// Each statement allocates another number of bytes; the comment "// BYTES: NAME" gives the name
// that the block must get.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct field {
    double* values;
    int count;
};

struct grid {
    double *vx, *vy;
    struct field fields[4];
    struct grid* next;
};

static double *A, *B, *C;
double** rows;
static void* table[8];

#define ALLOCATE(pointer, bytes) ((pointer) = malloc(bytes))
#define NEW_ARRAY(type, n) ((type*)malloc((n) * sizeof(type)))
#define CHECK(call)               \
    do {                          \
        if ((call) != 0) exit(1); \
    } while (0)

static void fail(const char* what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static __attribute__((noinline)) void* xmalloc(size_t bytes) {
    void* block = malloc(bytes);
    if (!block) fail("out of memory");
    return block;
}

static __attribute__((noinline)) double* alloc_array(size_t n, size_t m) {
    return (double*)xmalloc(n * m);
}

static inline void* checked(void* block) {
    if (block == NULL) fail("out of memory");
    return block;
}

static __attribute__((noinline)) int make_block(void** result, size_t bytes) {
    *result = malloc(bytes);
    return *result == NULL;
}

static __attribute__((noinline)) void give_block(size_t bytes, void** result) {
    void* block = malloc(bytes);
    if (block == NULL) fail("out of memory");
    *result = block;
}

static __attribute__((noinline)) struct grid* make_grid(void) {
    struct grid* g = calloc(1, 120001);  // 120001: grid
    g->vx = xmalloc(120002);             // 120002: grid->vx
    g->vy = malloc(120003);              // 120003: grid->vy
    return g;
}

static __attribute__((noinline)) void fill_grid(struct grid* g, size_t bytes) {
    g->vx = malloc(bytes);
    g->fields[1].values = malloc(bytes + 1);
}

static __attribute__((noinline)) void fill_next(struct grid** to) {
    fill_grid(*to, 120006);
    (*to)->next = NULL;
}

static __attribute__((noinline)) struct grid filled_grid(void) {
    struct grid g = {0};
    g.vy = malloc(120008);  // 120008: made.vy
    return g;
}

static void members(struct grid* grid) {
    struct grid own;
    fill_grid(&own, 120004);  // 120004: own.vx // 120005: own.fields[1].values
    fill_grid(grid, 120009);  // 120009: grid->vx // 120010: grid->fields[1].values
    struct grid* last = &own;
    fill_next(&last);  // 120006: last->vx // 120007: last->fields[1].values
    struct grid made = filled_grid();
    ((char*)made.vy)[0] = (char)(((char*)own.vx)[0] + 1);
}

static void* choose(int zero, void* a) {
    return zero ? a : malloc(120050);
}  // 120050: chosen

static void plain(int zero) {
    A = malloc(100001);                                        // 100001: A
    B = (double*)malloc(100002);                               // 100002: B
    C = malloc(100003), A[0] = 1;                              // 100003: C
    double* local = malloc(100004);                            // 100004: local
    double *first = malloc(100005), *second = malloc(100006);  // 100005: first // 100006: second
    static double* kept;
    kept = calloc(100007, 1);                                  // 100007: kept
    kept = realloc(kept, 200007);                              // 200007: kept
    rows = malloc(100008);                                     // 100008: rows
    for (int i = 0; i < 1; i++) rows[i] = malloc(100009);      // 100009: rows[i]
    table[zero + 3] = malloc(100010);                          // 100010: table[zero + 3]
    if (!(A = malloc(100011))) return;                         // 100011: A
    if ((B = malloc(100012)) == NULL) fail("B");               // 100012: B
    while (!(C = malloc(100013))) fail("C");                   // 100013: C
    char *text = NULL, *other = text ? text : malloc(100014);  // 100014: other
    double* many = (double*)calloc(100015,
                                   sizeof(char));  // 100015: many
    local[0] = first[0] = second[0] = many[0] = other[0] = 0;
    for (double* p = malloc(100016); p; p = NULL) p[0] = 1;  // 100016: p
}

static void by_argument(void) {
    void *p, *q;
    double* typed;
    if (posix_memalign(&p, 64, 110001)) fail("p");           // 110001: p
    CHECK(posix_memalign(&q, 64, 110002));                   // 110002: q
    int error = posix_memalign((void**)&typed, 64, 110003);  // 110003: typed
    struct grid g;
    error |= posix_memalign((void**)&g.vx, 64, 110004);  // 110004: g.vx
    error |= posix_memalign((void**)&g.fields[2].values, 4096,
                            110005);  // 110005: g.fields[2].values
    if (error) fail("memory");
    void* made;
    if (make_block(&made, 110006)) fail("made");  // 110006: made
    struct grid* h = &g;
    if (make_block((void**)&h->vy, 110007)) fail("vy");  // 110007: h->vy
    give_block(110008, (void**)&h->next);                // 110008: h->next
    A = aligned_alloc(64, 110016);                       // 110016: A
}

static void wrapped(int zero) {
    struct grid* grid = make_grid();
    grid->fields[1].values = alloc_array(130001, 1);          // 130001: grid->fields[1].values
    grid->fields[zero].values = checked(malloc(130002));      // 130002: grid->fields[zero].values
    double* a = alloc_array(1, 130003);                       // 130003: a
    ALLOCATE(B, 130004);                                      // 130004: B
    double* b = NEW_ARRAY(double, 16251);                     // 130008: b
    struct field f = {.values = malloc(130005), .count = 1};  // 130005: f.values
    struct field* heap = malloc(130006);                      // 130006: heap
    *heap = (struct field){.values = malloc(130007)};         // 130007: heap->values
    double* list[] = {malloc(130010), malloc(130011)};        // 130010: list[0] // 130011: list[1]
    memset(A = malloc(130012), 0, 130012);                    // 130012: A
    double* zeroed = memset(malloc(130013), 0, 130013);       // 130013: zeroed
    void* chosen = choose(zero, NULL);
    members(grid);
    free(malloc(130014));  // 130014: free()
    char** words = &(char*){NULL};
    *words = malloc(130015);  // 130015: *words
    (*words)[0] = (char)(b[0] + a[0] + f.count + list[0][0]) + (zeroed == chosen);
}

int main(int argc, char** argv) {
    (void)argv;
    plain(argc - 1);
    by_argument();
    wrapped(argc - 1);
    return 0;
}
