// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <fcntl.h>
#include <sys/stat.h>

#include "os.h"

namespace numascape::placer {
namespace {

template <typename Element>
bool fits(const Span& span, std::uint32_t bytes) {
    return span.offset % alignof(Element) == 0 && span.offset <= bytes &&
           std::uint64_t{span.count} * sizeof(Element) <= bytes - span.offset;
}

bool is_text(const Span& span, const char* base, std::uint32_t bytes) {
    return fits<char>(span, bytes) && span.count > 0 && base[span.offset + span.count - 1] == '\0';
}

// Checks that no other user could have written the file.
const PlanHeader* map_own_file(const char* path) {
    const int file = static_cast<int>(os::call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                                               O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file < 0) return nullptr;
    struct stat status{};
    const bool is_own = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                        status.st_uid == static_cast<uid_t>(os::call(SYS_geteuid)) &&
                        (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                        status.st_size >= static_cast<long>(sizeof(PlanHeader)) &&
                        status.st_size <= static_cast<long>(kLargestPlan);
    const PlanHeader* header = nullptr;
    if (is_own) {
        void* memory = reinterpret_cast<void*>(
            os::call(SYS_mmap, 0, status.st_size, PROT_READ, MAP_PRIVATE, file, 0));
        if (!os::failed(memory)) header = static_cast<const PlanHeader*>(memory);
        if (header != nullptr && header->bytes != static_cast<std::uint64_t>(status.st_size)) {
            header = nullptr;
        }
    }
    os::close(file);
    return header;
}

const char* last_part(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

}  // namespace

bool Plan::open() {
    const char* path = std::getenv(kPlanVariable);
    if (path == nullptr) return false;
    header_ = map_own_file(path);
    return header_ != nullptr && check() && is_about_this_program();
}

bool Plan::check() const {
    const PlanHeader& h = *header_;
    if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0 || h.version != kVersion) return false;
    if (h.nodes > kMaxNodes || h.cpu_words == 0 || h.cpu_words > kMaxCpuWords) return false;
    for (const Span* text : {&h.program, &h.socket, &h.folder}) {
        if (!is_text(*text, base(), h.bytes)) return false;
    }
    const Span mask_words{h.masks.offset, h.masks.count * h.cpu_words};
    return h.masks.count > 0 && h.masks.count <= h.bytes / 8 / h.cpu_words &&
           fits<std::uint64_t>(mask_words, h.bytes) && check_rules() && check_threads();
}

bool Plan::check_rules() const {
    const PlanHeader& h = *header_;
    if (!fits<Rule>(h.rules, h.bytes) || h.rules.count > kMaxRules ||
        !fits<std::uint32_t>(h.rule_nodes, h.bytes) ||
        !fits<std::uint32_t>(h.rule_weights, h.bytes) || !fits<double>(h.rule_posts, h.bytes)) {
        return false;
    }
    for (std::uint32_t i = 0; i < h.rules.count; ++i) {
        const Rule& r = rule(i);
        const auto fits_in = [&](std::uint32_t first, const Span& list, std::uint32_t more) {
            return first <= list.count && list.count - first >= std::uint64_t{r.node_count} + more;
        };
        if (r.policy > Policy::kParts || (r.policy != Policy::kFirstTouch && r.node_count == 0) ||
            !fits_in(r.first_node, h.rule_nodes, 0) ||
            (r.policy == Policy::kWeightedInterleave &&
             !fits_in(r.first_weight, h.rule_weights, 0)) ||
            (r.policy == Policy::kParts && !fits_in(r.first_post, h.rule_posts, 1))) {
            return false;
        }
        for (std::uint32_t k = 0; k < r.node_count; ++k) {
            if (nodes(r)[k] >= h.nodes) return false;
            if (r.policy == Policy::kWeightedInterleave && weights(r)[k] == 0) return false;
        }
    }
    return true;
}

bool Plan::check_threads() const {
    const PlanHeader& h = *header_;
    for (const Span* places : {&h.orders, &h.openmp}) {
        if (!fits<ThreadPlace>(*places, h.bytes)) return false;
        for (std::uint32_t i = 0; i < places->count; ++i) {
            const ThreadPlace& place = at<ThreadPlace>(*places)[i];
            if (place.rule != kNone && place.mask >= h.masks.count) return false;
        }
    }
    if (!fits<NameRule>(h.names, h.bytes) || !fits<StackRule>(h.stacks, h.bytes)) return false;
    for (std::uint32_t i = 0; i < h.names.count; ++i) {
        const NameRule& name = at<NameRule>(h.names)[i];
        if (!is_text(name.pattern, base(), h.bytes) || name.mask_count == 0 ||
            name.first_mask >= h.masks.count || name.mask_count > h.masks.count - name.first_mask) {
            return false;
        }
    }
    for (std::uint32_t i = 0; i < h.stacks.count; ++i) {
        if (at<StackRule>(h.stacks)[i].rule >= h.rules.count) return false;
    }
    return true;
}

bool Plan::is_about_this_program() const {
    const char* wanted = text(header_->program);
    if (*wanted == '\0') return true;
    char path[4096];
    const long length = os::call(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
                                 reinterpret_cast<long>(path), sizeof path - 1);
    if (length <= 0) return false;
    path[length] = '\0';
    return std::strcmp(last_part(path), wanted) == 0;
}

}  // namespace numascape::placer
