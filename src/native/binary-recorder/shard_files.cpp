// SPDX-License-Identifier: Apache-2.0
#include "shard_files.h"

#include <cstddef>
#include <string_view>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

char server_socket[64];
char server_secret[64];
char name[64];
ShardFiles current;

// Our descriptors have numbers that the program does not use, and it cannot close them.
file_t out_of_the_way(int file) {
    if (file < 0) {
        return INVALID_FILE;
    }
    const file_t duplicate = dr_dup_file_handle(file);
    if (duplicate == INVALID_FILE) {
        return file;
    }
    os::close(file);
    return duplicate;
}

struct Answer {
    char text[sizeof name];  // the shard's name, or "" when the request was refused
    int files[2];
};

void take_descriptors(msghdr& message, Answer& answer) {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header =
             reinterpret_cast<size_t>(header) + CMSG_ALIGN(header->cmsg_len) + sizeof(cmsghdr) <=
                     reinterpret_cast<size_t>(message.msg_control) + message.msg_controllen
                 ? reinterpret_cast<cmsghdr*>(reinterpret_cast<char*>(header) +
                                              CMSG_ALIGN(header->cmsg_len))
                 : nullptr) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
            const auto* files = reinterpret_cast<const int*>(CMSG_DATA(header));
            const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < count && i < 2; ++i) {
                answer.files[i] = files[i];
            }
        }
    }
}

// Sends one request over a new connection, and waits for the answer.
bool ask(const char* request, Answer& answer) {
    answer = {"", {-1, -1}};
    if (server_socket[0] == '\0') {
        return false;
    }
    const int connection =
        static_cast<int>(os::call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (connection < 0) {
        return false;
    }
    // An abstract name, which is not a file: it does not depend on the root directory.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string_view path = server_socket;
    for (size_t i = 0; i < path.size(); ++i) {
        address.sun_path[1 + i] = path[i];
    }
    const size_t length = offsetof(sockaddr_un, sun_path) + 1 + path.size();
    bool answered = false;
    if (os::call(SYS_connect, connection, reinterpret_cast<long>(&address),
                 static_cast<long>(length)) == 0 &&
        os::call(SYS_sendto, connection, reinterpret_cast<long>(request),
                 static_cast<long>(std::string_view(request).size()), MSG_NOSIGNAL) > 0) {
        alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
        iovec text{answer.text, sizeof answer.text - 1};
        msghdr message{};
        message.msg_iov = &text;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        long got = 0;
        do {
            got = os::call(SYS_recvmsg, connection, reinterpret_cast<long>(&message),
                           MSG_CMSG_CLOEXEC);
        } while (got == -EINTR);
        if (got > 0) {
            answer.text[got] = '\0';
            take_descriptors(message, answer);
            answered = true;
        }
    }
    os::close(connection);
    return answered;
}

bool ask_for_files(ShardFiles& files) {
    char request[160];
    dr_snprintf(request, sizeof request, "%s open %u", server_secret, os::process_id());
    request[sizeof request - 1] = '\0';
    Answer answer;
    if (!ask(request, answer) || answer.files[1] < 0) {
        return false;
    }
    dr_snprintf(name, sizeof name, "%s", answer.text);
    files = {out_of_the_way(answer.files[0]), out_of_the_way(answer.files[1])};
    return true;
}

// The program may have used all descriptors that its limit allows. While this object exists, the
// limit is the highest that the process may set.
class MoreDescriptors {
  public:
    MoreDescriptors() {
        os::call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, reinterpret_cast<long>(&before_));
        const rlimit raised{before_.rlim_max, before_.rlim_max};
        os::call(SYS_prlimit64, 0, RLIMIT_NOFILE, reinterpret_cast<long>(&raised), 0);
    }
    ~MoreDescriptors() {
        os::call(SYS_prlimit64, 0, RLIMIT_NOFILE, reinterpret_cast<long>(&before_), 0);
    }
    MoreDescriptors(const MoreDescriptors&) = delete;
    MoreDescriptors& operator=(const MoreDescriptors&) = delete;

  private:
    rlimit before_{};
};

}  // namespace

void serve_shard_files_by(const char* socket, const char* secret) {
    dr_snprintf(server_socket, sizeof server_socket, "%s", socket);
    dr_snprintf(server_secret, sizeof server_secret, "%s", secret);
    server_socket[sizeof server_socket - 1] = server_secret[sizeof server_secret - 1] = '\0';
}

// Makes DIR/PID-N.shard and DIR/PID-N.tables. N is the first free number: after exec, a process
// gets a new one.
bool open_shard_files(ShardFiles& files) {
    const MoreDescriptors more;
    char path[1200];
    files = {};
    for (int n = 0; n < 10000; ++n) {
        dr_snprintf(name, sizeof name, "%u-%d", os::process_id(), n);
        dr_snprintf(path, sizeof path, "%s/%s.shard", options.directory, name);
        path[sizeof path - 1] = '\0';
        files.shard = dr_open_file(path, DR_FILE_READ | DR_FILE_WRITE_REQUIRE_NEW);
        if (files.shard != INVALID_FILE || !dr_file_exists(path)) {
            break;
        }
    }
    if (files.shard != INVALID_FILE) {
        dr_snprintf(path, sizeof path, "%s/%s.tables", options.directory, name);
        files.tables = dr_open_file(path, DR_FILE_READ | DR_FILE_WRITE_REQUIRE_NEW);
    }
    if (files.tables == INVALID_FILE && !ask_for_files(files)) {
        return false;
    }
    current = files;
    return true;
}

ShardFiles memory_shard_files() {
    const MoreDescriptors more;
    current = {out_of_the_way(os::memory_file()), out_of_the_way(os::memory_file())};
    return current;
}

bool open_first_shard_files(ShardFiles& files) {
    if (open_shard_files(files)) {
        return true;
    }
    if (!options.attached) {
        return false;
    }
    files = memory_shard_files();
    return true;
}

const char* shard_name() {
    return name;
}

long grow_shard_file(int file, uint64_t bytes) {
    rlimit limit{};
    os::call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, reinterpret_cast<long>(&limit));
    if (bytes <= limit.rlim_cur) {
        return os::truncate(file, bytes);
    }
    char request[200];
    dr_snprintf(request, sizeof request, "%s grow %s.%s " UINT64_FORMAT_STRING, server_secret, name,
                file == current.shard ? "shard" : "tables", bytes);
    request[sizeof request - 1] = '\0';
    Answer answer;
    return ask(request, answer) && answer.text[0] != '\0' ? 0 : -EFBIG;
}

}  // namespace numascape
