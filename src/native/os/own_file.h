// SPDX-License-Identifier: Apache-2.0
//
// A file of the recorder in the recorded process. The program may close any descriptor, and open
// its own files with the same number. Before each use we check that the number is still ours.
#pragma once

#include <cstdint>

#include "spin_lock.h"

namespace numascape {

class OwnFile {
  public:
    // `path` must remain valid. Null: nobody else can close the descriptor.
    void take(int file, const char* path);
    // The descriptor; opens the file again if the program has closed it. Negative: it is lost.
    int get();
    void close();

    // For a descriptor to which nothing was written yet: gives it a number that no program expects,
    // because programs rely on getting the lowest free numbers.
    static int moved_up(int file);

  private:
    bool is_ours() const;

    int file_ = -1;
    const char* path_ = nullptr;
    uint64_t device_ = 0;
    uint64_t inode_ = 0;
    SpinLock lock_;
};

}  // namespace numascape
