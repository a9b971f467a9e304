// SPDX-License-Identifier: Apache-2.0
#include "demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "rust_name.h"

namespace numascape::symbols {
namespace {

// Longer names exist only in generated or hostile files, and demangling may multiply their length.
constexpr std::size_t kLongestMangledName = 16 * 1024;

bool is_identifier_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// Index one past the bracket that closes the one at `open`, or npos.
std::size_t skip_brackets(std::string_view text, std::size_t open) {
    std::size_t depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
        if (std::strchr("([{<", text[i]) != nullptr) ++depth;
        if (std::strchr(")]}>", text[i]) != nullptr) {
            const bool arrow = text[i] == '>' && i > 0 && text[i - 1] == '-';
            if (!arrow && --depth == 0) return i + 1;
        }
    }
    return std::string_view::npos;
}

// Index one past the symbol of the operator whose keyword ends at `i`: `operator()`, `operator<<`.
std::size_t skip_operator_symbol(std::string_view text, std::size_t i) {
    if (text.substr(i, 2) == "()" || text.substr(i, 2) == "[]") return i + 2;
    while (i < text.size() && std::strchr("<>=!+-*/%^&|~,", text[i]) != nullptr) ++i;
    return i;
}

bool is_operator_keyword(std::string_view text, std::size_t i) {
    constexpr std::string_view kKeyword = "operator";
    if (text.substr(i, kKeyword.size()) != kKeyword) return false;
    if (i > 0 && is_identifier_character(text[i - 1])) return false;
    const std::size_t end = i + kKeyword.size();
    return end < text.size() && !is_identifier_character(text[end]);
}

std::string_view without_rust_hash(std::string_view name) {
    constexpr std::size_t kHashLength = 3 + 16;  // "::h" and 16 hexadecimal digits
    if (name.size() <= kHashLength) return name;
    const std::string_view hash = name.substr(name.size() - kHashLength);
    if (hash.substr(0, 3) != "::h") return name;
    for (const char c : hash.substr(3)) {
        if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return name;
    }
    return name.substr(0, name.size() - kHashLength);
}

// Rust's legacy scheme writes punctuation as `$LT$`, `$u20$` and `..`.
std::string without_rust_escapes(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, char>, 7> kEscapes{{{"SP", '@'},
                                                                         {"BP", '*'},
                                                                         {"RF", '&'},
                                                                         {"LT", '<'},
                                                                         {"GT", '>'},
                                                                         {"LP", '('},
                                                                         {"RP", ')'}}};
    std::string plain;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const std::size_t end = name[i] == '$' ? name.find('$', i + 1) : std::string_view::npos;
        if (end == std::string_view::npos) {
            const bool is_path = name.substr(i, 2) == "..";
            plain += is_path ? "::" : std::string(1, name[i]);
            i += is_path ? 1 : 0;
            continue;
        }
        const std::string_view escape = name.substr(i + 1, end - i - 1);
        unsigned code = 0;
        for (const auto& [word, character] : kEscapes) {
            if (escape == word) code = static_cast<unsigned char>(character);
        }
        if (escape == "C") code = ',';
        if (escape.starts_with('u')) {
            std::from_chars(escape.data() + 1, escape.data() + escape.size(), code, 16);
        }
        const bool printable = code >= 0x20 && code < 0x7f;
        plain += printable ? std::string(1, static_cast<char>(code)) : std::string(escape);
        i = end;
    }
    // A part that starts with an escape has an underscore before it.
    if (plain.starts_with("_<")) plain.erase(0, 1);
    return plain;
}

// Empty if `mangled` is not a C++ or legacy Rust name.
std::string demangle(std::string_view mangled) {
    if (!mangled.starts_with("_Z")) return {};
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> demangled(
        abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0 || demangled == nullptr) return {};
    std::string_view name = demangled.get();
    name = name.substr(0, name.find(" [clone "));
    const std::string_view without_hash = without_rust_hash(name);
    if (without_hash.size() != name.size()) return without_rust_escapes(without_hash);
    return std::string(without_signature(name));
}

// In the name that gcc gives to an outlined region of OpenMP, this text follows the function. For a
// reader, these regions are functions of their own: "main._omp_fn.0", "Grid::fill._omp_fn.1".
constexpr std::string_view kOutlinedRegion = "._omp_fn.";

// What compilers add to the names of copies and parts of functions and variables.
constexpr std::array<std::string_view, 9> kCompilerWords{
    "isra", "part", "constprop", "cold", "llvm", "lto_priv", "localalias", "clone", "__uniq"};

// "table.1234", "solve.constprop.0": the compiler adds the first dot and the rest. gfortran's
// constants ("A.17.6") have no name but their number. Other dots are part of the name: Go writes
// "main.table", and clang "solve.table" for a static variable of the function `solve`.
std::string_view without_compiler_suffix(std::string_view name) {
    const auto is_number = [](std::string_view part) {
        return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    };
    const std::string_view whole = name;
    while (true) {
        const std::size_t dot = name.rfind('.');
        if (dot == std::string_view::npos || dot == 0) return name;
        const std::string_view part = name.substr(dot + 1);
        const std::string_view rest = name.substr(0, dot);
        const bool is_constant = name.size() == whole.size() && is_number(part) &&
                                 rest.find('.') != std::string_view::npos &&
                                 is_number(rest.substr(rest.find('.') + 1));
        if (is_constant) return rest;
        const bool is_word =
            std::find(kCompilerWords.begin(), kCompilerWords.end(), part) != kCompilerWords.end();
        if (!is_number(part) && !is_word) return name;
        name = rest;
    }
}

// gfortran: module `m`, entity `u`: `__m_MOD_u`.
std::string fortran_module_entity(std::string_view symbol) {
    const std::size_t separator = symbol.find("_MOD_");
    if (symbol.substr(0, 2) != "__" || separator == std::string_view::npos || separator <= 2) {
        return {};
    }
    return std::string(symbol.substr(2, separator - 2)) +
           "::" + std::string(symbol.substr(separator + 5));
}

}  // namespace

std::string_view without_signature(std::string_view demangled) {
    std::size_t name_start = 0;
    bool in_operator = false;
    std::size_t i = 0;
    while (i < demangled.size()) {
        const char c = demangled[i];
        if (is_operator_keyword(demangled, i)) {
            in_operator = true;
            i = skip_operator_symbol(demangled, i + std::strlen("operator"));
            continue;
        }
        if (c == '(') {
            const std::size_t after = skip_brackets(demangled, i);
            if (after == std::string_view::npos) break;
            const bool anonymous = demangled.substr(i, 10) == "(anonymous";
            const bool deduced = i >= 8 && demangled.substr(i - 8, 8) == "decltype";
            const bool is_scope = demangled.substr(after, 2) == "::";
            if (!anonymous && !deduced && !is_scope) {
                return demangled.substr(name_start, i - name_start);
            }
            if (is_scope) in_operator = false;
            i = after;
            continue;
        }
        if (c == '<' || c == '{' || c == '[') {
            const std::size_t after = skip_brackets(demangled, i);
            if (after == std::string_view::npos) break;
            i = after;
            continue;
        }
        if (c == ' ' && !in_operator) name_start = i + 1;
        ++i;
    }
    return demangled;
}

bool is_outlined_region(std::string_view name) {
    return name.find(kOutlinedRegion) != std::string_view::npos;
}

std::string readable_name(const char* symbol) {
    if (symbol == nullptr) return {};
    std::string_view plain(symbol, strnlen(symbol, kLongestMangledName + 1));
    if (plain.size() > kLongestMangledName) return std::string(plain.substr(0, 256)) + "...";
    plain = plain.substr(0, plain.find('@'));
    if (const std::size_t region = plain.find(kOutlinedRegion); region != std::string_view::npos) {
        return readable_name(std::string(plain.substr(0, region)).c_str())
            .append(plain.substr(region));
    }
    const std::string_view name = without_compiler_suffix(plain);
    // clang's suffixes (".llvm.123") are not part of the mangling; gcc's (".cold") are.
    for (const std::string_view mangled : {plain, name}) {
        const std::string demangled =
            mangled.starts_with("_R") ? rust_name(mangled) : demangle(mangled);
        if (!demangled.empty()) return demangled;
    }
    const std::string entity = fortran_module_entity(name);
    return entity.empty() ? std::string(name) : entity;
}

}  // namespace numascape::symbols
