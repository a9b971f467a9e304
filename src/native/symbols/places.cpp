// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <algorithm>

namespace numascape::symbols {

void PlaceCollector::add(const std::vector<Frame>& frames) {
    static const Frame kNowhere;
    const auto own = std::find_if(frames.begin(), frames.end(), [this](const Frame& frame) {
        return frame.line != 0 && !is_library(frame);
    });
    const Frame& innermost = own != frames.end() ? *own : frames.front();
    const Frame& place = frames.front().module.empty() ? kNowhere : innermost;
    const std::uint32_t function = number(place.function);
    const std::uint32_t file = number(place.file);
    const auto [known, is_new] = distinct_[std::uint64_t{function} << 32 | file].try_emplace(
        place.line, static_cast<std::uint32_t>(places_.line.size()));
    places_.place.push_back(known->second);
    if (!is_new) return;
    places_.function.push_back(function);
    places_.file.push_back(file);
    places_.line.push_back(place.line);
}

bool PlaceCollector::is_library(const Frame& frame) {
    const auto [known, is_new] =
        known_.try_emplace(frame.function + '\n' + frame.file + '\n' + frame.module);
    if (is_new) known->second = is_library_(frame.function, frame.file, frame.module);
    return known->second;
}

std::uint32_t PlaceCollector::number(const std::string& text) {
    const auto [known, is_new] =
        numbers_.try_emplace(text, static_cast<std::uint32_t>(places_.texts.size()));
    if (is_new) places_.texts.push_back(text);
    return known->second;
}

}  // namespace numascape::symbols
