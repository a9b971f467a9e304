// SPDX-License-Identifier: Apache-2.0
#include "target_end.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/ioctl.h>
#include <sys/wait.h>

#include "shard_format.h"

namespace numascape {
namespace {

// The first version of what PIDFD_GET_INFO fills in (include/uapi/linux/pidfd.h), which the headers
// of Debian 12 lack.
struct PidfdInfo {
    uint64_t mask;
    uint64_t control_group;
    uint32_t ids[11];
    int32_t exit_code;
};
constexpr uint64_t kInfoExit = 1u << 3;
constexpr unsigned long kGetInfo = _IOWR(0xff, 11, PidfdInfo);

// Reads field 52 of /proc/PID/stat (proc(5)). The first two fields end with the closing parenthesis
// of the name.
std::optional<int> status_of_zombie(int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) {
        return std::nullopt;
    }
    std::istringstream fields(line.substr(name_end + 1));
    std::string state;
    fields >> state;
    std::string word;
    for (int field = 4; field <= 52; ++field) {
        fields >> word;
    }
    return state == "Z" && fields ? std::optional(std::atoi(word.c_str())) : std::nullopt;
}

// The process may have several shards: one for each execve.
bool end_was_seen(int pid, const std::string& directory) {
    bool seen = false;
    for (int n = 0;; ++n) {
        ShardHeader header{};
        std::ifstream file(
            directory + "/" + std::to_string(pid) + "-" + std::to_string(n) + ".shard",
            std::ios::binary);
        if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) {
            return seen;
        }
        seen = (header.flags & kShardEnded) != 0;
    }
}

}  // namespace

std::optional<int> wait_status(int process, int pid) {
    PidfdInfo info{};
    info.mask = kInfoExit;
    if (ioctl(process, kGetInfo, &info) == 0 && (info.mask & kInfoExit) != 0) {
        return info.exit_code;
    }
    return status_of_zombie(pid);
}

std::string why_died(int process, int pid, const std::string& directory) {
    const std::string who = "process " + std::to_string(pid);
    const auto status = wait_status(process, pid);
    if (status && WIFSIGNALED(*status)) {
        const int signal = WTERMSIG(*status);
        return who + " was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) +
               ") while it was recorded";
    }
    if (!end_was_seen(pid, directory)) {
        return who + " died while it was recorded" +
               (status ? ", with status " + std::to_string(WEXITSTATUS(*status)) : "");
    }
    return "";
}

}  // namespace numascape
