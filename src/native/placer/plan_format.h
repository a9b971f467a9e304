// SPDX-License-Identifier: Apache-2.0
//
// What the placer and `numascape run` exchange: the plan, in a form that needs no parsing (a file);
// questions about call stacks (a socket); and the results of the plan (a file for each process).
// Everything is little-endian, like the supported processors. The other side is in
// src/numascape/placement/: compiling.py, resolving.py and verifying.py.
#pragma once

#include <cstdint>

namespace numascape::placer {

inline constexpr char kMagic[8] = {'N', 'U', 'M', 'A', 'P', 'L', 'A', 'N'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kLargestPlan = 64u << 20;
inline constexpr std::uint32_t kMaxNodes = 1024;
inline constexpr std::uint32_t kMaxCpuWords = 1024;
inline constexpr std::uint32_t kMaxRules = 4096;
inline constexpr std::uint32_t kNone = 0xffffffffu;

// `count` elements from byte `offset` of the file on.
struct Span {
    std::uint32_t offset;
    std::uint32_t count;
};

enum class Policy : std::uint32_t {
    kFirstTouch = 0,
    kInterleave = 1,
    kWeightedInterleave = 2,
    kBind = 3,
    kPreferred = 4,
    kParts = 5,
};

// The lists are from the plan's own arrays: `nodes` and `weights` of `node_count`, `posts` of
// `node_count` + 1.
struct Rule {
    Policy policy;
    std::uint32_t node_count;
    std::uint32_t first_node;
    std::uint32_t first_weight;
    std::uint32_t first_post;
};

// Where the thread with a certain number runs. If several rules name it, the lowest `rule` counts.
struct ThreadPlace {
    std::uint32_t rule;  // kNone: nowhere in particular
    std::uint32_t mask;
};

struct NameRule {
    Span pattern;
    std::uint32_t rule;
    std::uint32_t first_mask;  // the k-th thread of this name takes first_mask + k % mask_count
    std::uint32_t mask_count;
};

struct StackRule {
    std::uint32_t order;
    std::uint32_t rule;
};

struct PlanHeader {
    char magic[8];
    std::uint32_t version;
    std::uint32_t bytes;      // of the whole file
    std::uint32_t verifies;   // leave a report
    std::uint32_t places;     // 1: some rule is about blocks or mappings, 2: about variables
    std::uint32_t nodes;      // numbers of nodes are below it
    std::uint32_t cpu_words;  // 64-bit words in a mask of CPUs
    Span program;             // characters, as all text ended by a zero; empty: every program
    Span socket;              // a path
    Span folder;              // where reports go
    Span masks;               // uint64_t[cpu_words] each; mask 0 is what the run was given
    Span orders;              // ThreadPlace by order of creation
    Span openmp;              // ThreadPlace by OpenMP number
    Span names;               // NameRule
    Span stacks;              // StackRule
    Span rules;               // Rule
    Span rule_nodes;          // uint32_t
    Span rule_weights;        // uint32_t
    Span rule_posts;          // double
};

// A question has this header, then the modules, then the call stack, innermost first: return
// addresses, and the Python functions that are executed. Each module is a ModuleHeader followed by
// its path, each Python function a PythonHeader followed by the characters of its file and its
// name, and by CPython's table of source places.
enum class Question : std::uint32_t { kVariables = 1, kStack = 2 };

struct QuestionHeader {
    std::uint32_t bytes;  // of all that follows
    Question question;
    std::uint32_t modules;
    std::uint32_t addresses;
    std::uint32_t module_bytes;
    std::uint32_t is_mapping;  // the stack is of an mmap
    std::uint32_t python;      // Python functions
};

struct ModuleHeader {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t load_bias;
    std::uint32_t path_bytes;
    std::uint32_t padding;
};

struct PythonHeader {
    std::uint64_t offset;  // of the instruction, in bytes
    std::uint32_t version;
    std::uint32_t first_line;
    std::uint32_t file_width;  // bytes of a character
    std::uint32_t name_width;
    std::uint32_t file_bytes;
    std::uint32_t name_bytes;
    std::uint32_t line_bytes;
    std::uint32_t padding;
};

struct StackAnswer {
    std::uint32_t rule;   // kNone: no rule of the plan is about it
    std::uint32_t depth;  // this many innermost addresses decide that; 0: all
};

struct VariablesAnswer {
    std::uint32_t count;  // of PlacedVariable that follow
    std::uint32_t padding;
};

// A variable's memory, and the pages that are placed with it; it may share its first and last page.
struct PlacedVariable {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t first;  // address of a page
    std::uint64_t end;
    std::uint32_t rule;
    std::uint32_t padding;
};

// The report: this header, ThreadReport[kMaxThreadReports], then for each rule a RuleReport and
// uint64_t[nodes], the pages on each node.
inline constexpr std::uint32_t kMaxThreadReports = 8192;

enum class Ending : std::uint32_t { kNone = 0, kExit = 1, kSignal = 2 };

struct ReportHeader {
    char magic[8];
    std::uint32_t version;
    std::uint32_t process;
    Ending ending;  // kNone: it ended, or became another program, before anybody could look
    std::uint32_t rules;
    std::uint32_t nodes;
    std::uint32_t threads;     // how many were started; the first ones have a ThreadReport
    std::uint32_t unanswered;  // questions
    std::uint32_t refused;     // system calls that place
    std::uint32_t crowded;     // blocks left alone, because the process has too many mappings
    char program[228];
};

struct ThreadReport {
    std::uint32_t id;
    std::uint32_t order;
    std::uint32_t openmp;    // kNone: not of an OpenMP runtime
    std::uint32_t mask;      // kNone: no rule
    std::uint32_t is_right;  // 1: it may run on the mask's CPUs and no others; 0: it may not
    std::uint32_t last_cpu;  // kNone: not known
};

struct RuleReport {
    std::uint64_t instances;
    std::uint64_t bytes;
    std::uint64_t right;      // pages on a node that is planned for them
    std::uint64_t elsewhere;  // pages on others
    std::uint64_t untouched;
};

}  // namespace numascape::placer
