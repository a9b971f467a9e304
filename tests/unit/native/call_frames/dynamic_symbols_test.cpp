// SPDX-License-Identifier: Apache-2.0
//
// Symbols are compared with those that the C library's own loader finds.
#include "dynamic_symbols.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace numascape {
namespace {

struct Library {
    void* handle;
    uint64_t start;
    uint64_t end;
};

Library c_library() {
    Library found{dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), 0, 0};
    Dl_info info{};
    dladdr(dlsym(found.handle, "strtol"), &info);
    found.start = reinterpret_cast<uint64_t>(info.dli_fbase);
    dl_iterate_phdr(
        [](dl_phdr_info* module, size_t, void* argument) {
            auto& library = *static_cast<Library*>(argument);
            for (int i = 0; module->dlpi_addr == library.start && i < module->dlpi_phnum; ++i) {
                const auto& segment = module->dlpi_phdr[i];
                if (segment.p_type == PT_LOAD) {
                    library.end =
                        std::max(library.end, library.start + segment.p_vaddr + segment.p_memsz);
                }
            }
            return 0;
        },
        &found);
    return found;
}

TEST(DynamicSymbols, AreThoseOfTheLoader) {
    const Library library = c_library();
    ASSERT_NE(library.end, 0u);
    for (const char* name : {"strtol", "environ", "getpid", "fprintf", "stdout", "qsort"}) {
        EXPECT_EQ(dynamic_symbol(library.start, library.end, name),
                  reinterpret_cast<uint64_t>(dlsym(library.handle, name)))
            << name;
    }
    for (const char* name : {"", "strto", "strtolx", "_PyRuntime"}) {
        EXPECT_EQ(dynamic_symbol(library.start, library.end, name), 0u) << name;
    }
}

TEST(DynamicSymbols, ThereAreNoneWithoutAModule) {
    std::vector<char> page(4096);
    const auto start = reinterpret_cast<uint64_t>(page.data());
    EXPECT_EQ(dynamic_symbol(start, start + page.size(), "main"), 0u);
    EXPECT_EQ(dynamic_symbol(0, 4096, "main"), 0u);
}

TEST(DynamicSymbols, DamagedModulesDoNoHarm) {
    const Library library = c_library();
    std::vector<char> copy(library.end - library.start);
    std::memcpy(copy.data(), reinterpret_cast<void*>(library.start), 64 << 10);
    std::mt19937 chance(1);
    for (int i = 0; i < 2000; ++i) {
        std::vector<char> damaged(copy.begin(), copy.begin() + (64 << 10));
        for (int k = 0; k < 20; ++k) {
            damaged[chance() % (k < 10 ? 1024 : damaged.size())] = static_cast<char>(chance());
        }
        const auto start = reinterpret_cast<uint64_t>(damaged.data());
        const uint64_t found = dynamic_symbol(start, start + damaged.size(), "strtol");
        EXPECT_TRUE(found == 0 || (found >= start && found < start + damaged.size()));
    }
}

}  // namespace
}  // namespace numascape
