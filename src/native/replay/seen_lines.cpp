// SPDX-License-Identifier: Apache-2.0
#include "seen_lines.h"

#include <algorithm>

namespace numascape {
namespace {

template <typename Rows>
bool has_several_threads(const Rows& begin, const Rows& end) {
    return std::any_of(begin, end,
                       [&](const auto& row) { return row.first.thread != begin->first.thread; });
}

}  // namespace

void SeenLines::add(uint32_t owner, uint32_t page, uint32_t thread, const SampleRecord& sample,
                    Circumstances when) {
    const SeenParts& seen = sample.seen;
    const uint32_t line = seen.in_one_line() ? static_cast<uint32_t>(std::countr_zero(seen.lines))
                                             : SeenLineColumns::kWholePage;
    rows_.add(
        {owner, page, line, thread, sample.phase},
        {seen, sample.weight, when.alone ? sample.weight : 0, when.writes ? sample.weight : 0});
}

void SeenLines::finish(SeenLineColumns& out) {
    std::vector<Row> of_page;
    rows_.take([&](const Key& key, const Seen& seen) {
        if (!of_page.empty() &&
            (of_page.front().first.owner != key.owner || of_page.front().first.page != key.page)) {
            finish_page(of_page, out);
        }
        of_page.emplace_back(key, seen);
    });
    finish_page(of_page, out);
}

void SeenLines::finish_page(std::vector<Row>& rows, SeenLineColumns& out) {
    if (!rows.empty() && has_several_threads(rows.begin(), rows.end())) {
        for (auto begin = rows.begin(); begin != rows.end();) {
            const uint32_t line = begin->first.line;
            const auto end = std::find_if(begin, rows.end(),
                                          [&](const Row& row) { return row.first.line != line; });
            if (!has_several_threads(begin, end)) {
                std::for_each(begin, end,
                              [](Row& row) { row.first.line = SeenLineColumns::kWholePage; });
            }
            begin = end;
        }
        std::sort(rows.begin(), rows.end(),
                  [](const Row& a, const Row& b) { return a.first < b.first; });
        for (size_t i = 0; i < rows.size(); ++i) {
            auto& [key, seen] = rows[i];
            if (i + 1 < rows.size() && rows[i + 1].first == key) {
                rows[i + 1].second += seen;
                continue;
            }
            out.owner.push_back(key.owner);
            out.page.push_back(key.page);
            out.line.push_back(key.line);
            out.thread.push_back(key.thread);
            out.phase.push_back(key.phase);
            out.lines.push_back(seen.parts.lines);
            out.bytes.push_back(seen.parts.in_one_line() ? seen.parts.bytes : 0);
            out.times.push_back(seen.times);
            out.alone.push_back(seen.alone);
            out.writing.push_back(seen.writing);
        }
    }
    rows.clear();
}

}  // namespace numascape
