// SPDX-License-Identifier: Apache-2.0
#include "cache_name.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "debug_files.h"

namespace numascape::symbols {
namespace {

// FNV-1a.
class Hash {
  public:
    void add(std::string_view bytes) {
        for (const char byte : bytes) {
            value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
        }
    }
    void add(std::uint64_t number) {
        add(std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
    }
    void add(const struct stat& status) {
        add(static_cast<std::uint64_t>(status.st_size));
        add(static_cast<std::uint64_t>(status.st_mtim.tv_sec));
        add(static_cast<std::uint64_t>(status.st_mtim.tv_nsec));
    }
    // The file that is there now, or none.
    void add_file(const std::string& path) {
        struct stat status;
        if (stat(path.c_str(), &status) == 0) {
            add(path);
            add(status);
        }
    }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};

std::string hexadecimal(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
        text += digits;
    }
    return text;
}

// This library: each build of it may read something else from a file.
std::string own_path() {
    Dl_info info;
    const int found = dladdr(reinterpret_cast<const void*>(&cache_name), &info);
    return found != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace

std::string cache_name(Elf* elf, int fd, const std::string& path) {
    const void* id = nullptr;
    const ssize_t length = dwelf_elf_gnu_build_id(elf, &id);
    struct stat status;
    if (length < 8 || length > 64 || fstat(fd, &status) != 0) return {};
    const std::string build_id =
        hexadecimal({static_cast<const char*>(id), static_cast<std::size_t>(length)});
    Hash hash;
    hash.add_file(own_path());
    hash.add(status);
    for (const std::string& candidate : debug_file_candidates(elf, path, build_id)) {
        hash.add_file(candidate);
    }
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash.value()));
    return build_id + "-" + text;
}

}  // namespace numascape::symbols
