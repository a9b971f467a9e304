// SPDX-License-Identifier: Apache-2.0
//
// The C++ library's std::random_device calls arc4random, which glibc has since 2.36. With the
// function below, a program that contains the C++ library also runs on an older glibc. None of our
// programs uses std::random_device.
#include <cstdint>
#include <cstdlib>

#include <unistd.h>

extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
    std::uint32_t number;
    if (getentropy(&number, sizeof number) != 0) std::abort();
    return number;
}
