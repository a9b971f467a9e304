// SPDX-License-Identifier: Apache-2.0
// Globals of the executable (built as PIE and not) and of a shared library, linked and dlopened.
// The Makefile builds `libshared.so` and `libplugin.so` from globals_library.c.
#include <dlfcn.h>
#include <stdio.h>

#include "kernels.h"

enum { WORDS = 1024, ALIGNED = 4096 };

#define TWO_PAGES char __attribute__((aligned(ALIGNED)))

TWO_PAGES zeroed_global[2 * PAGE];
TWO_PAGES initialised_global[2 * PAGE] = {1};
static TWO_PAGES file_static[2 * PAGE];
static const TWO_PAGES read_only[2 * PAGE] = {1};

void use_shared_library(void);

static void use_function_static(void) {
    static TWO_PAGES function_static[2 * PAGE];
    add_strided(function_static, WORDS, 8);
}

int main(int argc, char** argv) {
    write_strided(zeroed_global, WORDS, 8);
    read_strided(initialised_global, WORDS, 8);
    write_strided(file_static, WORDS / 2, 16);
    read_strided(read_only, WORDS, 8);
    use_function_static();
    use_shared_library();
    if (argc > 1) {  // the plugin's path
        void* plugin = dlopen(argv[1], RTLD_NOW);
        void (*use_plugin)(void) = plugin ? (void (*)(void))dlsym(plugin, "use_plugin") : NULL;
        if (use_plugin == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        use_plugin();
        dlclose(plugin);
    }
    return 0;
}
