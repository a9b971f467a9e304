// SPDX-License-Identifier: Apache-2.0
#include "rust_name.h"

#include <cctype>
#include <cstdint>
#include <utility>

namespace numascape::symbols {
namespace {

constexpr int kDeepest = 200;
constexpr std::size_t kLongest = 4096;  // with back references, a name may grow exponentially

std::string_view basic_type(char letter) {
    switch (letter) {
        case 'a':
            return "i8";
        case 'b':
            return "bool";
        case 'c':
            return "char";
        case 'd':
            return "f64";
        case 'e':
            return "str";
        case 'f':
            return "f32";
        case 'h':
            return "u8";
        case 'i':
            return "isize";
        case 'j':
            return "usize";
        case 'l':
            return "i32";
        case 'm':
            return "u32";
        case 'n':
            return "i128";
        case 'o':
            return "u128";
        case 's':
            return "i16";
        case 't':
            return "u16";
        case 'u':
            return "()";
        case 'v':
            return "...";
        case 'x':
            return "i64";
        case 'y':
            return "u64";
        case 'z':
            return "!";
        case 'p':
            return "_";
        default:
            return {};
    }
}

// Reads the grammar of the RFC from left to right, and writes what is read unless it is hidden.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    std::string read() {
        path();
        return failed_ ? std::string() : std::move(written_);
    }

  private:
    // One level of the grammar, which is recursive.
    struct Level {
        explicit Level(Reader& reader) : reader_(reader) {
            if (++reader_.depth_ > kDeepest) reader_.failed_ = true;
        }
        ~Level() { --reader_.depth_; }
        Reader& reader_;
    };

    char next() {
        if (at_ >= text_.size()) failed_ = true;
        return failed_ ? '\0' : text_[at_++];
    }
    bool take(char wanted) {
        const bool found = !failed_ && at_ < text_.size() && text_[at_] == wanted;
        at_ += found ? 1 : 0;
        return found;
    }
    void write(std::string_view words) {
        if (!hidden_) written_ += words;
        if (written_.size() > kLongest) failed_ = true;
    }
    template <typename Read>
    void hide(Read read) {
        const bool before = std::exchange(hidden_, true);
        read();
        hidden_ = before;
    }

    std::uint64_t number_62() {
        if (take('_')) return 0;
        std::uint64_t value = 0;
        while (!failed_ && !take('_')) {
            const char digit = next();
            if (std::isdigit(static_cast<unsigned char>(digit)) != 0) {
                value = value * 62 + static_cast<std::uint64_t>(digit - '0');
            } else if (std::islower(static_cast<unsigned char>(digit)) != 0) {
                value = value * 62 + 10 + static_cast<std::uint64_t>(digit - 'a');
            } else if (std::isupper(static_cast<unsigned char>(digit)) != 0) {
                value = value * 62 + 36 + static_cast<std::uint64_t>(digit - 'A');
            } else {
                failed_ = true;
            }
        }
        return value + 1;
    }
    void disambiguator() {
        if (take('s')) number_62();
    }
    std::size_t decimal() {
        const auto is_digit = [this] {
            return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
        };
        if (failed_ || take('0')) return 0;  // no digit follows a 0
        if (!is_digit()) failed_ = true;
        std::size_t value = 0;
        while (!failed_ && is_digit()) {
            value = value * 10 + static_cast<std::size_t>(text_[at_++] - '0');
            if (value > text_.size()) failed_ = true;
        }
        return value;
    }
    std::string_view identifier() {
        disambiguator();
        take('u');  // in punycode
        const std::size_t length = decimal();
        take('_');
        if (failed_ || length > text_.size() - at_) {
            failed_ = true;
            return {};
        }
        at_ += length;
        return text_.substr(at_ - length, length);
    }
    // `B`: repeats the text of an earlier place.
    template <typename Read>
    void back_reference(Read read) {
        const std::size_t here = at_ - 1;
        const std::uint64_t to = number_62();
        if (to >= here) failed_ = true;
        if (failed_ || hidden_) return;
        const std::size_t after = std::exchange(at_, static_cast<std::size_t>(to));
        read();
        at_ = after;
    }

    void path() {
        const Level level(*this);
        switch (next()) {
            case 'C':
                write(identifier());
                break;
            case 'N':
                nested();
                break;
            case 'M':
                implementation();
                type();
                break;
            case 'X':
                implementation();
                [[fallthrough]];
            case 'Y':
                write("<");
                type();
                write(" as ");
                path();
                write(">");
                break;
            case 'I':
                path();
                hide([this] { generic_arguments(); });
                break;
            case 'B':
                back_reference([this] { path(); });
                break;
            default:
                failed_ = true;
        }
    }
    void implementation() {
        disambiguator();
        hide([this] { path(); });
    }
    void nested() {
        const char space = next();
        path();
        const std::string_view name = identifier();
        if (std::isupper(static_cast<unsigned char>(space)) != 0) {
            write(space == 'C' ? "::{closure}" : "::{shim}");
        } else if (!name.empty()) {
            write("::");
            write(name);
        }
    }
    void generic_arguments() {
        while (!failed_ && !take('E')) {
            if (take('L')) {
                number_62();
            } else if (take('K')) {
                constant();
            } else {
                type();
            }
        }
    }
    void constant() {
        const Level level(*this);
        if (take('p')) return;
        if (take('B')) {
            number_62();
            return;
        }
        next();  // the basic type
        take('n');
        while (!failed_ && !take('_')) {
            if (std::isxdigit(static_cast<unsigned char>(next())) == 0) failed_ = true;
        }
    }
    void types_until_end() {
        for (bool first = true; !failed_ && !take('E'); first = false) {
            if (!first) write(", ");
            type();
        }
    }
    void type() {
        const Level level(*this);
        const char letter = next();
        if (const std::string_view basic = basic_type(letter); !basic.empty()) {
            write(basic);
            return;
        }
        switch (letter) {
            case 'A':
            case 'S':
                write("[");
                type();
                if (letter == 'A') constant();
                write("]");
                break;
            case 'T':
                write("(");
                types_until_end();
                write(")");
                break;
            case 'R':
            case 'Q':
                write(letter == 'R' ? "&" : "&mut ");
                if (take('L')) number_62();
                type();
                break;
            case 'P':
            case 'O':
                write(letter == 'P' ? "*const " : "*mut ");
                type();
                break;
            case 'F':
                function_type();
                break;
            case 'D':
                dynamic_type();
                break;
            case 'B':
                back_reference([this] { type(); });
                break;
            default:
                --at_;
                path();
        }
    }
    void function_type() {
        if (take('G')) number_62();
        take('U');
        if (take('K') && !take('C')) identifier();
        write("fn(");
        types_until_end();
        write(")");
        if (take('u')) return;
        write(" -> ");
        type();
    }
    void dynamic_type() {
        write("dyn ");
        if (take('G')) number_62();
        for (bool first = true; !failed_ && !take('E'); first = false) {
            if (!first) write(" + ");
            path();
            while (take('p')) {
                identifier();
                hide([this] { type(); });
            }
        }
        if (take('L')) number_62();
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    bool failed_ = false;
    bool hidden_ = false;
    std::string written_;
};

}  // namespace

std::string rust_name(std::string_view symbol) {
    return symbol.starts_with("_R") ? Reader(symbol.substr(2)).read() : std::string();
}

}  // namespace numascape::symbols
