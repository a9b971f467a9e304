// SPDX-License-Identifier: Apache-2.0
// Reads JSON (RFC 8259) from untrusted text, in one pass and without a tree: the caller reads the
// values that it expects, and skips the rest. Text that is not JSON or is nested deeper than 32
// throws std::invalid_argument with the position.
#pragma once

#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace numascape::detail {

class json_reader {
  public:
    explicit json_reader(std::string_view text) : text_{text} {}

    // Calls member(name) for each; it must read or skip the value.
    template <class F>
    void object(F member) {
        begin('{');
        for (bool first = true; !ended('}', first); first = false) {
            const std::string name = string();
            expect(':');
            member(name);
        }
    }
    // Calls element() for each; it must read or skip it.
    template <class F>
    void array(F element) {
        begin('[');
        for (bool first = true; !ended(']', first); first = false) element();
    }

    // Characters beyond ASCII that are written as \u are given as '?'.
    std::string string() {
        expect('"');
        std::string result;
        for (;;) {
            const char c = next();
            if (c == '"') return result;
            if (static_cast<unsigned char>(c) < 0x20) wrong("a character that must be escaped");
            result += c == '\\' ? escaped() : c;
        }
    }

    double number() {
        const std::string_view token = number_token();
        double value = 0;
        const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
        if (error != std::errc{} || end != token.data() + token.size())
            wrong("a number beyond double precision");
        return value;
    }
    // A whole number, from 0 to `most`.
    std::size_t count(std::size_t most) {
        const std::string_view token = number_token();
        std::size_t value = 0;
        const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
        if (error != std::errc{} || end != token.data() + token.size() || value > most)
            wrong("expected a whole number up to " + std::to_string(most));
        return value;
    }
    // Whether the value is null; if so, skips it.
    bool null() {
        if (peek() != 'n') return false;
        word("null");
        return true;
    }

    void skip() {
        switch (peek()) {
            case '{':
                object([this](const std::string&) { skip(); });
                break;
            case '[':
                array([this] { skip(); });
                break;
            case '"':
                string();
                break;
            case 't':
                word("true");
                break;
            case 'f':
                word("false");
                break;
            case 'n':
                word("null");
                break;
            default:
                number_token();
        }
    }
    // Checks that only white space follows.
    void end() {
        space();
        if (at_ != text_.size()) wrong("text after the end");
    }

    [[noreturn]] void wrong(const std::string& what) const {
        throw std::invalid_argument{"byte " + std::to_string(at_) + ": " + what};
    }

  private:
    static constexpr int deepest = 32;

    void space() {
        while (at_ < text_.size() &&
               std::string_view{" \t\r\n"}.find(text_[at_]) != std::string_view::npos)
            ++at_;
    }
    // The character at a position; 0 after the end.
    char peek_raw() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    char peek() {
        space();
        return peek_raw();
    }
    char next() {
        if (at_ == text_.size()) wrong("the text ends here");
        return text_[at_++];
    }
    void expect(char c) {
        if (peek() != c) wrong(std::string{"expected "} + c);
        ++at_;
    }
    void begin(char open) {
        expect(open);
        if (++depth_ > deepest) wrong("nested too deeply");
    }
    // Takes the comma before all members but the first, or the end.
    bool ended(char close, bool first) {
        if (peek() == close) {
            ++at_;
            --depth_;
            return true;
        }
        if (!first) expect(',');
        return false;
    }
    void word(std::string_view name) {
        if (text_.substr(at_, name.size()) != name) wrong("expected a value");
        at_ += name.size();
    }

    char escaped() {
        constexpr std::string_view written = "\"\\/bfnrt";
        constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
        const char c = next();
        if (c == 'u') return unicode();
        const std::size_t found = written.find(c);
        if (found == std::string_view::npos) wrong("no such escape");
        return meant[found];
    }
    char unicode() {
        unsigned value = 0;
        const char* const from = text_.data() + at_;
        if (text_.size() - at_ < 4 || std::from_chars(from, from + 4, value, 16).ptr != from + 4)
            wrong("expected four hexadecimal digits");
        at_ += 4;
        return value < 0x80 ? static_cast<char>(value) : '?';
    }

    void digits() {
        if (!digit()) wrong("expected a digit");
        while (digit()) ++at_;
    }
    bool digit() const { return peek_raw() >= '0' && peek_raw() <= '9'; }
    std::string_view number_token() {
        space();
        const std::size_t from = at_;
        if (peek_raw() == '-') ++at_;
        if (peek_raw() == '0')
            ++at_;
        else
            digits();
        if (peek_raw() == '.') {
            ++at_;
            digits();
        }
        if (peek_raw() == 'e' || peek_raw() == 'E') {
            ++at_;
            if (peek_raw() == '-' || peek_raw() == '+') ++at_;
            digits();
        }
        return text_.substr(from, at_ - from);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace numascape::detail
