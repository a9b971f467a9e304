// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "plan_format.h"

namespace numascape::placer {

// Where the compiled plan is.
inline constexpr char kPlanVariable[] = "NUMASCAPE_PLAN";

// The plan of this process. It was checked when it was opened: every index in it fits.
class Plan {
  public:
    // Maps the file that NUMASCAPE_PLAN names. False if there is none, if it belongs to another
    // user or is damaged, or if the plan is not for the program of this process.
    bool open();

    const PlanHeader& header() const { return *header_; }
    bool places_blocks() const { return (header_->places & 1u) != 0; }
    bool places_variables() const { return (header_->places & 2u) != 0; }

    const Rule& rule(std::uint32_t index) const { return at<Rule>(header_->rules)[index]; }
    std::uint32_t rule_count() const { return header_->rules.count; }
    const std::uint32_t* nodes(const Rule& rule) const {
        return at<std::uint32_t>(header_->rule_nodes) + rule.first_node;
    }
    const std::uint32_t* weights(const Rule& rule) const {
        return at<std::uint32_t>(header_->rule_weights) + rule.first_weight;
    }
    const double* posts(const Rule& rule) const {
        return at<double>(header_->rule_posts) + rule.first_post;
    }
    const std::uint64_t* mask(std::uint32_t index) const {
        return at<std::uint64_t>(header_->masks) + std::size_t{index} * header_->cpu_words;
    }
    std::size_t mask_bytes() const { return std::size_t{header_->cpu_words} * 8; }
    const char* text(const Span& span) const { return at<char>(span); }
    template <typename Element>
    const Element* at(const Span& span) const {
        return reinterpret_cast<const Element*>(base() + span.offset);
    }

  private:
    const char* base() const { return reinterpret_cast<const char*>(header_); }
    bool check() const;
    bool check_rules() const;
    bool check_threads() const;
    bool is_about_this_program() const;

    const PlanHeader* header_ = nullptr;
};

}  // namespace numascape::placer
