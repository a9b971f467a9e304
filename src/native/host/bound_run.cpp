// SPDX-License-Identifier: Apache-2.0
//
// bound-run NODE,NODE... PROGRAM ARGUMENTS...
//
// Becomes the program, each of whose threads takes memory from its own CPU's node only if that is
// one of the nodes. set_mempolicy(2) knows no "strictly local": a binding to the nodes of the CPUs
// that the program may use is the nearest. The kernel takes from the nearest of them first, and
// where it is the only one frees page cache there, in place of going elsewhere.
// Exit status: the program's, 126 or 127 as a shell's when it cannot be run, 2 for mistakes.
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr std::size_t kMostNodes = 4096;
constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);

bool read_nodes(std::string_view text, std::vector<unsigned long>& mask) {
    while (!text.empty()) {
        std::size_t node = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
        if (error != std::errc() || node >= kMostNodes) return false;
        mask[node / kWordBits] |= 1UL << (node % kWordBits);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (!text.empty() && text.front() == ',') text.remove_prefix(1);
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<unsigned long> mask(kMostNodes / kWordBits);
    if (argc < 3 || !read_nodes(argv[1], mask)) {
        std::fprintf(stderr, "usage: bound-run NODE,NODE... PROGRAM ARGUMENTS...\n");
        return 2;
    }
    if (syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), kMostNodes + 1) != 0) {
        std::fprintf(stderr, "numascape: error: memory cannot be bound here: %s\n",
                     std::strerror(errno));
        return 2;
    }
    execvp(argv[2], argv + 2);
    const int reason = errno;
    std::fprintf(stderr, "numascape: error: %s cannot be run: %s\n", argv[2],
                 std::strerror(reason));
    return reason == ENOENT ? 127 : 126;
}
