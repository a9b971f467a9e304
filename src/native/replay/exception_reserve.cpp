// SPDX-License-Identifier: Apache-2.0
#include "exception_reserve.h"

#include <cstring>
#include <string_view>

#include "page_counters.h"

namespace numascape {
namespace {

// The size of the reserve depends on the library's version.
constexpr uint64_t kMinBytes = 64 << 10;
constexpr uint64_t kMaxBytes = 96 << 10;

// The return address of the allocation; 0 if unknown. A copy of a stack begins with it.
uint64_t caller(const CallStack& stack) {
    uint64_t address = 0;
    if (!stack.frames.empty()) {
        address = stack.frames.front();
    } else if (stack.stack.size() >= sizeof address) {
        std::memcpy(&address, stack.stack.data(), sizeof address);
    }
    return address;
}

bool is_libstdcxx(std::string_view path) {
    return path.substr(path.rfind('/') + 1).starts_with("libstdc++.so");
}

}  // namespace

bool ExceptionReserve::is(const AllocRecord& block,
                          const std::unordered_map<uint64_t, CallStack>& call_stacks,
                          const PageOwners& owners) {
    const auto stack = call_stacks.find(block.stack_id);
    if (first_block_seen_ || stack == call_stacks.end()) {
        return false;
    }
    const auto path = owners.module_path(window_page(caller(stack->second)));
    first_block_seen_ = path && is_libstdcxx(*path);
    return first_block_seen_ && block.bytes >= kMinBytes && block.bytes <= kMaxBytes;
}

}  // namespace numascape
