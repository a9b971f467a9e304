// SPDX-License-Identifier: Apache-2.0
//
// An open file, and whether the kernel reports to this user which of its pages are in memory.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace numascape::live {

struct Descriptor {
    int number;
    explicit Descriptor(int opened) : number(opened) {}
    ~Descriptor() {
        if (number >= 0) close(number);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
};

// Whether mincore(2) is true for this user. If the user neither owns the file nor may write it,
// mincore reports all of its pages as in memory (mm/mincore.c, can_do_mincore).
inline bool mincore_is_true(int file, const struct stat& status) {
    return geteuid() == 0 || status.st_uid == geteuid() ||
           faccessat(file, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

}  // namespace numascape::live
