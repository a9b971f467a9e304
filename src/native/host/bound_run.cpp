// SPDX-License-Identifier: Apache-2.0
//
// bound-run NODE,NODE... PROGRAM ARGUMENTS...
//
// Executes the program with its memory bound to these nodes. set_mempolicy(2) has no strictly local
// policy; a binding to the nodes of the CPUs that the program may use is the closest one. The
// kernel first uses the nearest of these nodes. If there is only one, the kernel frees its page
// cache instead of using other nodes.
// Exit status: the program's; 126 or 127, as of a shell, if it cannot be run; 2 for errors.
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

constexpr std::size_t kMaxNodes = 4096;
constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);

bool read_nodes(std::string_view text, std::vector<unsigned long>& mask) {
    while (!text.empty()) {
        std::size_t node = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
        if (error != std::errc() || node >= kMaxNodes) return false;
        mask[node / kWordBits] |= 1UL << (node % kWordBits);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (!text.empty() && text.front() == ',') text.remove_prefix(1);
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<unsigned long> mask(kMaxNodes / kWordBits);
    if (argc < 3 || !read_nodes(argv[1], mask)) {
        std::fprintf(stderr, "usage: bound-run NODE,NODE... PROGRAM ARGUMENTS...\n");
        return 2;
    }
    if (syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), kMaxNodes + 1) != 0) {
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
