// SPDX-License-Identifier: Apache-2.0
#include "attach_checks.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <elf.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injector_calls.h"
#include "processor.h"
#include "release_thread.h"

namespace numascape {
namespace {

std::string proc(int pid, const char* what) {
    return "/proc/" + std::to_string(pid) + "/" + what;
}

std::string link_of(const std::string& path) {
    char target[4096];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    return length > 0 ? std::string(target, static_cast<size_t>(length)) : std::string();
}

// The fields of /proc/PID/status or of another file like this, by name.
std::map<std::string, std::string> fields_of(const std::string& path) {
    std::map<std::string, std::string> fields;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(':');
        const size_t value = line.find_first_not_of(" \t", colon + 1);
        if (colon != std::string::npos && value != std::string::npos) {
            fields[line.substr(0, colon)] = line.substr(value);
        }
    }
    return fields;
}

struct Ids {
    unsigned real = 0;
    unsigned effective = 0;
    unsigned saved = 0;
    bool same() const { return real == effective && effective == saved; }
};

Ids ids_in(const std::string& text) {
    Ids ids;
    std::istringstream(text) >> ids.real >> ids.effective >> ids.saved;
    return ids;
}

// The process that traces a thread of this process; "" if there is none. A debugger may trace only
// some threads.
std::string tracer_of(int pid) {
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator(proc(pid, "task"), error)) {
        auto fields = fields_of(task.path() / "status");
        if (!fields["TracerPid"].empty() && fields["TracerPid"] != "0") {
            return fields["TracerPid"];
        }
    }
    return "";
}

std::string check_state(int pid, std::map<std::string, std::string>& status) {
    const std::string process = "process " + std::to_string(pid);
    if (status["Tgid"] != std::to_string(pid)) {
        return std::to_string(pid) + " is a thread: use --pid " + status["Tgid"] + ", its process";
    }
    if (const std::string tracer = tracer_of(pid); !tracer.empty()) {
        return process + " is traced by process " + tracer +
               " (a debugger?): detach that process first";
    }
    switch (status["State"][0]) {
        case 'Z':
        case 'X':
            return process + " has ended already";
        case 'T':
        case 't':
            return process + " is stopped: continue it first (kill -CONT " + std::to_string(pid) +
                   ")";
        default:
            return "";
    }
}

// Why a thread may not make every system call; "" if all threads may.
std::string confinement_of(int pid) {
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator(proc(pid, "task"), error)) {
        const std::string mode = fields_of(task.path() / "status")["Seccomp"];
        if (mode == "1") {
            return " has a thread that may only read, write and end (seccomp): attaching would end "
                   "it";
        }
        if (mode == "2") {
            return " filters its system calls (seccomp): attaching could end it";
        }
    }
    return "";
}

std::string check_rights(int pid, std::map<std::string, std::string>& status, const Ids& user) {
    const std::string process = "process " + std::to_string(pid);
    if (geteuid() != 0 && user.effective != geteuid()) {
        return process + " belongs to another user: run numascape as that user or as root";
    }
    if (!user.same() || !ids_in(status["Gid"]).same()) {
        return process + " has changed its user or group (set-uid?): it cannot be recorded";
    }
    // The files of such a process belong to root, and DynamoRIO in it could not read them.
    struct stat files{};
    if (stat(proc(pid, "stat").c_str(), &files) == 0 && files.st_uid != user.effective) {
        return process +
               " has given up privileges, or does not let itself be traced (prctl, "
               "PR_SET_DUMPABLE): it cannot be recorded";
    }
    if (const std::string confined = confinement_of(pid); !confined.empty()) {
        return process + confined;
    }
    struct stat ours{};
    struct stat its{};
    const std::string namespaces = link_of(proc(pid, "ns/mnt"));
    if (stat("/", &ours) == 0 && stat(proc(pid, "root/").c_str(), &its) == 0 &&
        (ours.st_ino != its.st_ino || ours.st_dev != its.st_dev ||
         (!namespaces.empty() && namespaces != link_of("/proc/self/ns/mnt")))) {
        return process + " has another root directory (chroot or container): run numascape there";
    }
    // DynamoRIO finds its options by the process id, and we name threads to it by their ids.
    if (const std::string ids = link_of(proc(pid, "ns/pid"));
        !ids.empty() && ids != link_of("/proc/self/ns/pid")) {
        return process + " has other process ids for itself (a PID namespace): run numascape there";
    }
    return "";
}

// Whether mlockall has locked the memory of the process. Only mlockall also locks its stack.
bool locks_all_memory(int pid, std::map<std::string, std::string>& status) {
    if (std::strtoul(status["VmLck"].c_str(), nullptr, 10) == 0) {
        return false;
    }
    std::ifstream mappings(proc(pid, "smaps"));
    bool in_stack = false;
    for (std::string line; std::getline(mappings, line);) {
        if (line.find("[stack]") != std::string::npos) {
            in_stack = true;
        } else if (in_stack && line.starts_with("VmFlags:")) {
            return (line + " ").find(" lo ") != std::string::npos;
        }
    }
    return false;
}

std::string check_memory(int pid, std::map<std::string, std::string>& status) {
    const std::string process = "process " + std::to_string(pid);
    constexpr rlim_t kEnough = rlim_t{1} << 38;  // counters of 63 threads
    rlimit addresses{};
    if (prlimit(pid, RLIMIT_AS, nullptr, &addresses) == 0 && addresses.rlim_cur < kEnough) {
        return process + " may have only " + std::to_string(addresses.rlim_cur) +
               " bytes of address space (ulimit -v), but the recorder reserves 4 GiB for each "
               "thread: raise this limit, prlimit --pid " +
               std::to_string(pid) + " --as=unlimited";
    }
    if (locks_all_memory(pid, status)) {
        return process +
               " locks all its memory (mlockall): the kernel would fill what the recorder "
               "reserves. Start the program with numascape record instead";
    }
    return "";
}

std::string check_executable(int pid, const Target& target) {
    const std::string process = "process " + std::to_string(pid);
    if (target.executable.empty()) {
        return process + (geteuid() == 0 || errno == ENOENT
                              ? " is part of the kernel: there is no program to record"
                              : " may not be examined: run numascape as its user or as root");
    }
    Elf64_Ehdr header{};
    std::ifstream file(proc(pid, "exe"), std::ios::binary);
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    if (!file || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != os::kElfMachine) {
        return process + " is not a 64-bit " + os::kProcessorName + " program";
    }
    if (access(target.executable.c_str(), R_OK) != 0) {
        return process + " runs " + target.executable + ", which no longer exists";
    }
    return "";
}

// Whether the user of the process can read DynamoRIO and write into the directory.
bool usable_by(unsigned user, unsigned group, const std::string& home,
               const std::string& directory) {
    if (geteuid() != 0 || user == 0) {
        return true;
    }
    // Only we may use a folder that mkdtemp made, but the process must write there.
    if (chown(directory.c_str(), user, group) != 0) {
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        const bool usable = setgid(group) == 0 && setuid(user) == 0 &&
                            access((home + "/libnumascape_recorder.so").c_str(), R_OK) == 0 &&
                            access((home + "/lib64/release/libdynamorio.so").c_str(), R_OK) == 0 &&
                            access(directory.c_str(), W_OK | X_OK) == 0;
        _exit(usable ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status == 0;
}

bool maps_hold(int pid, const char* text) {
    std::ifstream maps(proc(pid, "maps"));
    for (std::string line; std::getline(maps, line);) {
        if (line.find(text) != std::string::npos) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::string examine(int pid, const std::string& home, const std::string& directory,
                    Target& target) {
    const std::string process = "process " + std::to_string(pid);
    auto status = fields_of(proc(pid, "status"));
    if (pid <= 0 || status.empty()) {
        return "there is no " + process;
    }
    target.pid = pid;
    target.executable = link_of(proc(pid, "exe"));
    target.name = std::filesystem::path(target.executable).filename();
    const Ids user = ids_in(status["Uid"]);
    for (const std::string& reason : {check_state(pid, status), check_rights(pid, status, user),
                                      check_memory(pid, status), check_executable(pid, target)}) {
        if (!reason.empty()) {
            return reason;
        }
    }
    if (is_recorded(pid)) {
        return process + " is being recorded already";
    }
    if (!usable_by(user.effective, ids_in(status["Gid"]).effective, home, directory)) {
        return process + "'s user cannot use " + home + " or write into " + directory +
               ": install Numascape where that user can read, and write the trace to /tmp";
    }
    return "";
}

std::string why_not_traced(const Target& target, const Untraced& untraced) {
    const std::string process = "process " + std::to_string(target.pid);
    if (kill(target.pid, 0) != 0 && errno == ESRCH) {
        return process + " ended before it could be recorded";
    }
    if (!untraced.reason.empty()) {
        return process + " " + untraced.reason;
    }
    if (untraced.error != EPERM) {
        return "the recorder cannot be put into " + process +
               (untraced.error != 0 ? std::string(": ") + std::strerror(untraced.error) : "");
    }
    std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
    int scope = 0;
    if (file >> scope && scope > 0 && geteuid() != 0) {
        return "tracing " + process + " is not allowed here: run numascape as root, or allow it " +
               "(sysctl kernel.yama.ptrace_scope=0)";
    }
    return "tracing " + process +
           " is not possible here: run numascape as root, or give the container the capability "
           "SYS_PTRACE";
}

bool is_recorded(int pid) {
    return maps_hold(pid, "libnumascape_recorder.so");
}

int unreachable_thread(int pid, int known) {
    int found = 0;
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator(proc(pid, "task"), error)) {
        std::ifstream file(task.path() / "stat");
        std::string stat;
        std::getline(file, stat);
        const std::size_t name_end = stat.rfind(") ");
        const int thread = std::atoi(task.path().filename().c_str());
        if (name_end != std::string::npos && std::strchr("TtD", stat[name_end + 2]) != nullptr &&
            (found == 0 || found != known)) {
            found = thread;
        }
    }
    return found;
}

int release_thread(int pid) {
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator(proc(pid, "task"), error)) {
        std::ifstream file(task.path() / "comm");
        std::string name;
        if (std::getline(file, name) && name == kReleaseThreadName) {
            return std::atoi(task.path().filename().c_str());
        }
    }
    return 0;
}

}  // namespace numascape
