// SPDX-License-Identifier: Apache-2.0
//
// The placer's _dl_find_object, where the C library has none.
#include <cstdio>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "placer/find_object.h"

// The function of the placer is hidden, so calls from this program go to it.
extern "C" int _dl_find_object(void* address, struct dl_find_object* result) noexcept;

namespace numascape::placer {

// Simulates a C library without this function.
FindObject find_object_of_c_library() {
    return nullptr;
}

}  // namespace numascape::placer

namespace {

using numascape::placer::FindObject;

void expect_as_the_c_library_finds(void* address) {
    const auto find = reinterpret_cast<FindObject>(dlsym(RTLD_NEXT, "_dl_find_object"));
    if (find == nullptr) GTEST_SKIP() << "glibc before 2.35";
    struct dl_find_object expected{};
    struct dl_find_object result{};
    EXPECT_EQ(_dl_find_object(address, &result), find(address, &expected));
    EXPECT_EQ(result.dlfo_eh_frame, expected.dlfo_eh_frame);
}

TEST(FindObject, FindsTheProgramAndLibraries) {
    expect_as_the_c_library_finds(reinterpret_cast<void*>(&expect_as_the_c_library_finds));
    expect_as_the_c_library_finds(dlsym(RTLD_DEFAULT, "printf"));
    expect_as_the_c_library_finds(dlsym(RTLD_DEFAULT, "__cxa_throw"));
}

TEST(FindObject, FindsNothingOutside) {
    int local = 0;
    expect_as_the_c_library_finds(&local);
    expect_as_the_c_library_finds(nullptr);
}

}  // namespace
