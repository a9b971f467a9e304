// SPDX-License-Identifier: Apache-2.0
#include "resolver.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <link.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "modules.h"
#include "os.h"

namespace numascape::placer {
namespace {

// Reading a large program's debug information for the first time takes seconds.
constexpr int kPatience_ms = 120'000;
constexpr std::size_t kMaxModuleBytes = 1 << 20;
constexpr std::size_t kMaxPythonBytes = 1 << 20;

PythonFrames python;
std::atomic<std::uint64_t> looked_at{0};  // the module loads at the last search for it

// The text of the modules of a question, in separate memory.
struct Modules {
    char* bytes = nullptr;
    std::size_t used = 0;
    std::uint32_t count = 0;

    void add(const void* data, std::size_t size) {
        std::memcpy(bytes + used, data, size);
        used += size;
    }
};

int add_module(dl_phdr_info* info, std::size_t, void* argument) {
    auto& modules = *static_cast<Modules*>(argument);
    ModuleHeader header{~std::uint64_t{0}, 0, info->dlpi_addr, 0, 0};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) & segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const std::uint64_t start = info->dlpi_addr + segment.p_vaddr;
        header.start = start < header.start ? start : header.start;
        const std::uint64_t end = start + segment.p_memsz;
        header.end = end > header.end ? end : header.end;
    }
    header.start &= ~std::uint64_t{4095};
    header.end = (header.end + 4095) & ~std::uint64_t{4095};
    if (header.start >= header.end) return 0;
    char own[4096];
    const char* path = info->dlpi_name;
    if (path == nullptr || *path == '\0') {  // the executable is the first, and has no name here
        const long length =
            modules.count != 0
                ? 0
                : os::call(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
                           reinterpret_cast<long>(own), sizeof own - 1);
        if (length <= 0) return 0;
        own[length] = '\0';
        path = own;
    }
    header.path_bytes = static_cast<std::uint32_t>(std::strlen(path));
    if (modules.used + sizeof header + header.path_bytes > kMaxModuleBytes) return 1;
    modules.add(&header, sizeof header);
    modules.add(path, header.path_bytes);
    ++modules.count;
    return 0;
}

class Connection {
  public:
    explicit Connection(const char* path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (std::strlen(path) >= sizeof address.sun_path) return;
        std::strcpy(address.sun_path, path);
        socket_ = static_cast<int>(os::call(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (socket_ >= 0 &&
            os::call(SYS_connect, socket_, reinterpret_cast<long>(&address), sizeof address) != 0) {
            close();
        }
    }
    ~Connection() { close(); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    bool send(const void* data, std::size_t bytes) {
        const char* from = static_cast<const char*>(data);
        while (socket_ >= 0 && bytes > 0) {
            const long sent = os::call(SYS_sendto, socket_, reinterpret_cast<long>(from),
                                       static_cast<long>(bytes), MSG_NOSIGNAL);
            if (sent == -EINTR) continue;
            if (sent <= 0) return false;
            from += sent;
            bytes -= static_cast<std::size_t>(sent);
        }
        return socket_ >= 0;
    }

    bool receive(void* data, std::size_t bytes) {
        char* to = static_cast<char*>(data);
        while (socket_ >= 0 && bytes > 0) {
            pollfd ready{socket_, POLLIN, 0};
            const long polled = os::poll(&ready, 1, kPatience_ms);
            if (polled == -EINTR) continue;
            if (polled <= 0) return false;
            const long got = os::call(SYS_recvfrom, socket_, reinterpret_cast<long>(to),
                                      static_cast<long>(bytes), 0);
            if (got == -EINTR) continue;
            if (got <= 0) return false;
            to += got;
            bytes -= static_cast<std::size_t>(got);
        }
        return socket_ >= 0;
    }

  private:
    void close() {
        if (socket_ >= 0) os::close(socket_);
        socket_ = -1;
    }
    int socket_ = -1;
};

// The text of the Python functions of a question; `found` counts them.
std::size_t write_python(const AskedStack& stack, char* to, std::uint32_t& found) {
    std::size_t used = 0;
    for (std::size_t i = 0; i < stack.python_count; ++i) {
        PythonCode code;
        if (!python.describe(stack.python[i].code, code) ||
            used + sizeof(PythonHeader) + code.bytes() > kMaxPythonBytes) {
            continue;
        }
        const PythonHeader header{stack.python[i].offset, code.version,        code.first_line,
                                  code.file.width,        code.function.width, code.file.bytes,
                                  code.function.bytes,    code.lines.bytes,    0};
        std::memcpy(to + used, &header, sizeof header);
        code.copy(to + used + sizeof header);
        used += sizeof header + code.bytes();
        ++found;
    }
    return used;
}

constexpr std::size_t kQuestionBytes = kMaxModuleBytes + kMaxPythonBytes;

// `modules.bytes` has room for the question.
bool send_question(Connection& connection, Question question, const AskedStack& stack,
                   const Modules& modules) {
    std::uint32_t functions = 0;
    const std::size_t python_bytes =
        write_python(stack, modules.bytes + kMaxModuleBytes, functions);
    const QuestionHeader header{
        static_cast<std::uint32_t>(modules.used + stack.count * 8 + python_bytes),
        question,
        modules.count,
        static_cast<std::uint32_t>(stack.count),
        static_cast<std::uint32_t>(modules.used),
        stack.is_mapping ? 1u : 0u,
        functions};
    return connection.send(&header, sizeof header) &&
           connection.send(modules.bytes, modules.used) &&
           connection.send(stack.addresses, stack.count * 8) &&
           connection.send(modules.bytes + kMaxModuleBytes, python_bytes);
}

// Asks, and reads the beginning of the answer.
template <typename Answer>
Reply ask(Connection& connection, Question question, const AskedStack& stack, Answer& answer) {
    Modules modules;
    modules.bytes = static_cast<char*>(os::map_sparse(kQuestionBytes));
    if (os::failed(modules.bytes)) return Reply::kNone;
    Reply reply = Reply::kLater;
    if (visit_modules(add_module, &modules)) {
        const bool answered = send_question(connection, question, stack, modules) &&
                              connection.receive(&answer, sizeof answer);
        reply = answered ? Reply::kAnswer : Reply::kNone;
    }
    os::unmap(modules.bytes, kQuestionBytes);
    return reply;
}

int look_for_python(dl_phdr_info* info, std::size_t, void*) {
    std::uint64_t start = ~std::uint64_t{0};
    std::uint64_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) & segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const std::uint64_t at = info->dlpi_addr + segment.p_vaddr;
        start = at < start ? at : start;
        end = at + segment.p_memsz > end ? at + segment.p_memsz : end;
    }
    if (start < end) python.add_module(start & ~std::uint64_t{4095}, end);
    return 0;
}

}  // namespace

Reply ask_stack(const Plan& plan, const AskedStack& stack, StackAnswer& answer) {
    Connection connection(plan.text(plan.header().socket));
    const Reply reply = ask(connection, Question::kStack, stack, answer);
    const bool is_valid = answer.rule == kNone || answer.rule < plan.rule_count();
    return reply == Reply::kAnswer && !is_valid ? Reply::kNone : reply;
}

std::uint32_t python_functions(PythonFrame (&found)[PythonFrames::kMax]) {
    static thread_local std::uint64_t state;
    return python.is_loaded() ? python.walk(os::thread_id(), state, PythonFrames::kMax, found) : 0;
}

bool found_python() {
    const std::uint64_t loads = module_loads();
    if (python.is_loaded() || loads == kUnknownLoads || looked_at.exchange(loads) == loads) {
        return false;
    }
    visit_modules(look_for_python, nullptr);
    return python.is_loaded();
}

Reply ask_variables(const Plan& plan, void (*take)(const PlacedVariable&)) {
    Connection connection(plan.text(plan.header().socket));
    VariablesAnswer answer{};
    const Reply reply = ask(connection, Question::kVariables, {}, answer);
    for (std::uint32_t i = 0; i < answer.count; ++i) {
        PlacedVariable variable{};
        if (!connection.receive(&variable, sizeof variable)) return Reply::kNone;
        if (variable.rule < plan.rule_count() && variable.first % kPageBytes == 0 &&
            variable.end % kPageBytes == 0 && variable.first <= variable.end) {
            take(variable);
        }
    }
    return reply;
}

}  // namespace numascape::placer
