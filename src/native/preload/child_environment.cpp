// SPDX-License-Identifier: Apache-2.0
#include "child_environment.h"

#include <cstring>

#include <dlfcn.h>
#include <unistd.h>

namespace numascape {

constinit ChildEnvironment child_environment;

namespace {

constexpr char kPreload[] = "LD_PRELOAD=";
constexpr size_t kPreloadBytes = sizeof kPreload - 1;

bool begins(const char* variable, const char* name, size_t bytes) {
    return std::strncmp(variable, name, bytes) == 0;
}

bool is_separator(char letter) {
    return letter == ':' || letter == ' ';
}

// Where `library` is one of the words of `list`, or null.
const char* find_word(const char* list, const char* library, size_t length) {
    for (const char* at = list; *at != '\0';) {
        size_t word = 0;
        while (at[word] != '\0' && !is_separator(at[word])) {
            ++word;
        }
        if (word == length && std::strncmp(at, library, length) == 0) {
            return at;
        }
        at += word;
        at += *at != '\0' ? 1 : 0;
    }
    return nullptr;
}

}  // namespace

char* ChildEnvironment::keep(const char* text, size_t length) {
    if (length + 1 > kRoom - used_) {
        return nullptr;
    }
    char* copy = room_ + used_;
    std::memcpy(copy, text, length);
    copy[length] = '\0';
    used_ += length + 1;
    return copy;
}

bool ChildEnvironment::is_kept(const char* variable) const {
    for (size_t i = 0; i < kept_count_; ++i) {
        if (begins(variable, kept_[i], kept_names_[i])) {
            return true;
        }
    }
    return false;
}

void ChildEnvironment::hide(const char* const* names, size_t count) {
    Dl_info self{};
    if (environ == nullptr || library_ != nullptr || count > kMaxKept ||
        dladdr(&child_environment, &self) == 0 || self.dli_fname == nullptr) {
        return;
    }
    const char* library = keep(self.dli_fname, std::strlen(self.dli_fname));
    if (library == nullptr) {
        return;
    }
    for (char** at = environ; *at != nullptr; ++at) {
        for (size_t i = 0; i < count; ++i) {
            const size_t bytes = std::strlen(names[i]);
            if (!begins(*at, names[i], bytes) || (*at)[bytes] != '=' || is_kept(*at)) {
                continue;
            }
            kept_[kept_count_] = keep(*at, std::strlen(*at));
            if (kept_[kept_count_] == nullptr) {
                kept_count_ = 0;
                return;
            }
            kept_names_[kept_count_++] = bytes + 1;
        }
    }
    library_ = library;
    clean();
}

// The array itself is changed: main was given its address.
void ChildEnvironment::clean() {
    char** to = environ;
    for (char** at = environ; kept_count_ != 0 && *at != nullptr; ++at) {
        if (is_kept(*at)) {
            continue;
        }
        const size_t length = std::strlen(library_);
        const char* list = *at + kPreloadBytes;
        const char* word =
            begins(*at, kPreload, kPreloadBytes) ? find_word(list, library_, length) : nullptr;
        const char* rest = word != nullptr ? word + length : nullptr;
        rest += word != nullptr && *rest != '\0' ? 1 : 0;
        if (word == list && *rest == '\0') {
            continue;
        }
        const size_t before = word != nullptr ? static_cast<size_t>(word - *at) : 0;
        if (word != nullptr && before + std::strlen(rest) < sizeof preload_) {
            std::memcpy(preload_, *at, before);
            std::memcpy(preload_ + before, rest, std::strlen(rest) + 1);
            const size_t end = std::strlen(preload_);
            if (*rest == '\0' && is_separator(preload_[end - 1])) {
                preload_[end - 1] = '\0';
            }
            *to++ = preload_;
            continue;
        }
        *to++ = *at;
    }
    if (kept_count_ != 0) {
        *to = nullptr;
    }
}

size_t ChildEnvironment::bytes_for(char* const* program) const {
    size_t count = kept_count_ + 2;
    size_t preload = kPreloadBytes + (library_ != nullptr ? std::strlen(library_) : 0) + 2;
    for (char* const* at = program; at != nullptr && *at != nullptr; ++at) {
        ++count;
        preload += begins(*at, kPreload, kPreloadBytes) ? std::strlen(*at) : 0;
    }
    return count * sizeof(char*) + preload;
}

char* const* ChildEnvironment::merge(char* const* program, void* memory) const {
    size_t count = 0;
    while (program[count] != nullptr) {
        ++count;
    }
    auto** out = static_cast<char**>(memory);
    char* preload = static_cast<char*>(memory) + (count + kept_count_ + 2) * sizeof(char*);
    const size_t length = std::strlen(library_);
    std::memcpy(preload, kPreload, kPreloadBytes);
    std::memcpy(preload + kPreloadBytes, library_, length + 1);
    bool placed = false;
    for (size_t i = 0; i < count; ++i) {
        const char* variable = program[i];
        if (is_kept(variable)) {
            continue;
        }
        if (!begins(variable, kPreload, kPreloadBytes)) {
            *out++ = program[i];
            continue;
        }
        const char* list = variable + kPreloadBytes;
        if (find_word(list, library_, length) != nullptr) {
            *out++ = program[i];
            placed = true;
        } else if (!placed) {
            char* end = preload + kPreloadBytes + length;
            if (*list != '\0') {
                *end++ = ':';
            }
            std::memcpy(end, list, std::strlen(list) + 1);
        }
    }
    if (!placed) {
        *out++ = preload;
    }
    for (size_t i = 0; i < kept_count_; ++i) {
        *out++ = const_cast<char*>(kept_[i]);
    }
    *out = nullptr;
    return static_cast<char* const*>(memory);
}

}  // namespace numascape
