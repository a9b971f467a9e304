// SPDX-License-Identifier: Apache-2.0
//
// numascape-launch HOME DIRECTORY CLIENT-OPTIONS -- PROGRAM ARGUMENTS...
//
// Becomes PROGRAM, which is recorded. Process, standard streams, working directory and signals stay
// the same. HOME is the folder with DynamoRIO's lib64/ and our client, DIRECTORY takes the shards.
// With the CLIENT-OPTIONS "bare", DynamoRIO runs the program without our client, for comparison.
//
// DynamoRIO's library is an executable. It is executed with the path of the program in its
// environment. It then loads the program into its own process, and passes the same environment to
// the programs that this one executes.
//
// Exit status 125 when the program cannot be recorded, 126 when it cannot be executed, 127 when it
// is not found (as env(1) and other wrappers do), with one line in DIRECTORY/launch-error.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <elf.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dynamorio_settings.h"
#include "processor.h"

namespace {

constexpr int kCannotRecord = 125;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

// The file for the reason of a failure, because standard error belongs to the program.
std::string error_file;

[[noreturn]] void fail(int status, const std::string& message) {
    std::ofstream(error_file) << message << '\n';
    std::exit(status);
}

std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) {
        if (access(name.c_str(), F_OK) != 0) {
            fail(kNotFound, "there is no program " + name);
        }
        return name;
    }
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
        struct stat status{};
        if (stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
            access(candidate.c_str(), X_OK) == 0) {
            return candidate;
        }
    }
    fail(kNotFound, "there is no program " + name + " on PATH");
}

void check_permissions(const std::string& path) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
        fail(kCannotExecute, path + " is not a file");
    }
    if (access(path.c_str(), X_OK) != 0) {
        fail(kCannotExecute, path + " is not executable: give it the permission (chmod +x)");
    }
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0) {
        fail(kCannotRecord, path + " is set-uid or set-gid: record a copy without that bit");
    }
    if (access(path.c_str(), R_OK) != 0) {
        fail(kCannotRecord, path + " is not readable: recording reads the program's code");
    }
}

// The interpreter line of a script, split as the kernel does: at most one argument.
std::optional<std::vector<std::string>> interpreter(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string line(256, '\0');
    file.read(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(static_cast<size_t>(file.gcount()));
    if (line.rfind("#!", 0) != 0) {
        return std::nullopt;
    }
    line = line.substr(2, line.find('\n') - 2);
    const char* blank = " \t\r";
    const size_t start = line.find_first_not_of(blank);
    if (start == std::string::npos) {
        return std::nullopt;
    }
    const size_t end = line.find_first_of(blank, start);
    std::vector<std::string> words{line.substr(start, end - start)};
    const size_t argument = line.find_first_not_of(blank, end);
    if (end != std::string::npos && argument != std::string::npos) {
        const size_t last = line.find_last_not_of(blank);
        words.push_back(line.substr(argument, last + 1 - argument));
    }
    return words;
}

void check_format(const std::string& path) {
    Elf64_Ehdr header{};
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    if (file.gcount() < static_cast<std::streamsize>(EI_NIDENT) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        fail(kCannotExecute, path + " is neither an executable nor a script with a #! line");
    }
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != numascape::os::kElfMachine) {
        fail(kCannotRecord,
             path + " is not a 64-bit " + numascape::os::kProcessorName + " program");
    }
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
        fail(kCannotExecute, path + " is not an executable file");
    }
}

// Follows #! lines until it finds a binary. `command` becomes the command that the kernel would
// execute.
void resolve(std::vector<std::string>& command) {
    command[0] = find_program(command[0]);
    for (int depth = 0; depth < 4; ++depth) {
        check_permissions(command[0]);
        const auto words = interpreter(command[0]);
        if (!words) {
            check_format(command[0]);
            return;
        }
        command.insert(command.begin(), words->begin(), words->end());
    }
    fail(kCannotExecute, command.back() + ": too many interpreters");
}

std::string absolute(const std::string& path) {
    char* real = realpath(path.c_str(), nullptr);
    if (real == nullptr) {
        fail(kCannotExecute, path + ": " + std::strerror(errno));
    }
    std::string result = real;
    std::free(real);
    return result;
}

// Addresses are counted modulo 2^40. Without address space randomisation, mappings of a program do
// not overlap modulo 2^40. The setting survives exec, as required.
void disable_randomisation() {
    const int current = personality(0xffffffff);
    if (current == -1 ||
        personality(static_cast<unsigned long>(current) | ADDR_NO_RANDOMIZE) == -1) {
        fail(kCannotRecord, std::string("cannot switch address space randomisation off: ") +
                                std::strerror(errno) +
                                " (in a container, allow the system call personality)");
    }
}

std::string quoted(const std::string& text) {
    for (const char quote : {'\'', '"', '`'}) {
        if (text.find(quote) == std::string::npos) {
            return quote + text + quote;
        }
    }
    fail(kCannotRecord, "the path " + text + " holds all three kinds of quotes");
}

}  // namespace

int main(int argc, char* argv[]) {
    if (argc < 6 || std::string(argv[4]) != "--") {
        std::fputs("usage: numascape-launch HOME DIRECTORY OPTIONS -- PROGRAM ARGUMENTS...\n",
                   stderr);
        return 2;
    }
    const std::string directory = argv[2];
    error_file = directory + "/launch-error";
    const std::string home = absolute(argv[1]);
    const std::string client_options = argv[3];
    std::vector<std::string> command(argv + 5, argv + argc);
    const std::string given_name = command[0];
    resolve(command);

    // DynamoRIO must not keep copies of streams that the program closes: the reader of a pipe would
    // otherwise wait for ever.
    std::string options = std::string(numascape::kDynamorioSettings) +
                          " -no_dup_stdin_on_close -no_dup_stdout_on_close -no_dup_stderr_on_close";
    if (client_options != "bare") {
        const std::string client = home + "/libnumascape_recorder.so";
        options += " -client_lib " + quoted(client + ";0;-directory \"" + absolute(directory) +
                                            "\" " + client_options);
    }
    const std::string library = home + "/lib64/release/libdynamorio.so";
    disable_randomisation();
    setenv("DYNAMORIO_OPTIONS", options.c_str(), 1);
    setenv("DYNAMORIO_RUNUNDER", "1", 1);
    setenv("DYNAMORIO_EXE_PATH", absolute(command[0]).c_str(), 1);
    std::vector<char*> arguments;
    for (std::string& word : command) {
        arguments.push_back(word.data());
    }
    if (command.size() == static_cast<size_t>(argc - 5)) {
        arguments[0] = const_cast<char*>(given_name.c_str());  // the program sees what was typed
    }
    arguments.push_back(nullptr);
    execv(library.c_str(), arguments.data());
    fail(kCannotRecord,
         library + ": " + std::strerror(errno) + " (is numascape installed completely?)");
}
