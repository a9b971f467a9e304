// SPDX-License-Identifier: Apache-2.0
//
// Keeps what was read from the symbols and the debug information of a file for later recordings.
//
// A folder has one file for each program or library:
//
//   header | addresses | frames | globals | text ends | first frames | text
//
// Files are private to the build of this library that wrote them. They may come from another user
// or be damaged: such files are ignored. They are written under another name and then renamed, so
// two recordings may write the same file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbols.h"
#include "text_table.h"

namespace numascape::symbols {

// Addresses are those in the file. Frames and globals are without their `module`. They are kept as
// in the file, because large libraries have many.
class ModuleCache {
  public:
    // `name` says which version of the file it is (cache_name.h). Reads what is there.
    ModuleCache(const std::string& folder, const std::string& name);

    // nullopt if they are not known yet; never empty.
    std::optional<std::vector<Frame>> frames(std::uint64_t pc) const;
    void add_frames(std::uint64_t pc, const std::vector<Frame>& frames);
    // Whether few of the known addresses have only a symbol. If a program has more of them, it has
    // hardly any debug information: reading its symbols is then as fast as the cache.
    bool has_room_for_symbols() const;

    std::optional<std::vector<Global>> globals() const;
    // `bias` is subtracted from their addresses.
    void set_globals(std::span<const Global> globals, std::uint64_t bias);

    // Writes the new entries, if there are enough of them. Errors are ignored: the next recording
    // reads again.
    void save() const;

  private:
    struct CachedFrame {
        std::uint64_t offset;
        std::uint32_t function, file, call_notes;  // texts
        std::uint32_t line, column, entry_line, inlined;
        std::uint32_t unused = 0;
    };
    struct CachedGlobal {
        std::uint64_t address, size;
        std::uint32_t name, file, function, line;  // all but the last are texts
        std::uint32_t points_to_data;
        std::uint32_t unused = 0;
    };
    struct Header;

    bool read(std::span<const std::byte> bytes);
    bool take_frames(std::span<const std::uint64_t> addresses,
                     std::span<const std::uint32_t> first_frames);
    bool has_only_known_texts() const;
    void write() const;

    std::string path_;
    TextTable texts_;
    // By address, the range of its frames.
    std::unordered_map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>> ranges_;
    std::vector<CachedFrame> frames_;
    std::optional<std::vector<CachedGlobal>> globals_;
    std::size_t known_ = 0;         // addresses in the file
    std::size_t without_line_ = 0;  // frames
    bool has_new_globals_ = false;
};

}  // namespace numascape::symbols
