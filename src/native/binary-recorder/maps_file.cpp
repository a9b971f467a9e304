// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "dr_api.h"
#include "recorder.h"

namespace numascape {
namespace {

struct Visit {
    void (*function)(const MappedRange&, void*);
    void* argument;
};

bool is_ours(const MappedRange& range) {
    auto* address = reinterpret_cast<byte*>(range.start);
    return dr_memory_is_dr_internal(address) || dr_memory_is_in_client(address) ||
           shard.owns(range.start) ||
           // Shard files of the parent process, which are still mapped after a fork.
           std::string_view(range.path).starts_with(options.directory);
}

}  // namespace

void each_mapping(void (*visit)(const MappedRange&, void*), void* argument) {
    Visit wanted{visit, argument};
    each_process_mapping(
        [](const MappedRange& range, void* to) {
            const auto* each = static_cast<const Visit*>(to);
            if (!is_ours(range)) {
                each->function(range, each->argument);
            }
        },
        &wanted);
}

}  // namespace numascape
