// SPDX-License-Identifier: Apache-2.0
#include "own_file.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "os.h"

namespace numascape {
namespace {

bool identify(int file, uint64_t& device, uint64_t& inode) {
    struct stat status{};
    if (os::call(SYS_fstat, file, reinterpret_cast<long>(&status)) < 0) {
        return false;
    }
    device = status.st_dev;
    inode = status.st_ino;
    return true;
}

}  // namespace

int OwnFile::moved_up(int file) {
    // Below the limit of select(2), and low enough to keep the kernel's table of descriptors small.
    constexpr uint64_t kHighest = 1024;
    constexpr uint64_t kRoom = 24;
    rlimit limit{};
    os::call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, reinterpret_cast<long>(&limit));
    const uint64_t end = limit.rlim_cur < kHighest ? limit.rlim_cur : kHighest;
    if (file < 0 || end <= kRoom) {
        return file;
    }
    const long moved = os::call(SYS_fcntl, file, F_DUPFD_CLOEXEC, static_cast<long>(end - kRoom));
    if (moved < 0) {
        return file;
    }
    os::close(file);
    return static_cast<int>(moved);
}

void OwnFile::take(int file, const char* path) {
    lock_.reset();
    file_ = file;
    path_ = path;
    if (path != nullptr && !identify(file, device_, inode_)) {
        path_ = nullptr;
    }
}

bool OwnFile::is_ours() const {
    uint64_t device = 0;
    uint64_t inode = 0;
    return path_ == nullptr ||
           (identify(file_, device, inode) && device == device_ && inode == inode_);
}

int OwnFile::get() {
    if (is_ours()) {
        return file_;
    }
    SpinGuard guard(lock_);
    if (is_ours()) {
        return file_;
    }
    const int opened = os::open(path_, O_RDWR | O_CLOEXEC);
    if (opened < 0) {
        return opened;
    }
    file_ = moved_up(opened);
    if (!is_ours()) {  // another file has its name
        os::close(file_);
        file_ = -1;
    }
    return file_;
}

void OwnFile::close() {
    if (file_ >= 0 && is_ours()) {
        os::close(file_);
    }
    file_ = -1;
}

}  // namespace numascape
