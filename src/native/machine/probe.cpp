// SPDX-License-Identifier: Apache-2.0
//
// probe latency   --cpu C --node N --bytes B,B...
// probe bandwidth --operation OP --cpus C,C... [--nodes N,N...] [--touch serial] [--calls each]
//                 [--alone yes] --bytes B,B...
// probe loaded    --cpu C --node N --cpus C,C... --bytes B --delays D,D...
// probe cores     --from C --to C
// probe list
//   all: [--samples K] [--sample-ms T] [--instructions SET]
//
// Measures this host's memory; `numascape machine` chooses the measurements, and checks their
// quality. Prints a line of JSON for the setting, and one for each point as soon as it is known:
//   {"instructions": "avx2", "bound": true, "known": true, "pages": 512, "elsewhere": 0,
//    "huge_bytes": 2097152, "all_bytes": 2097152}
//   {"at": 32768, "samples": [1.2, 1.3], "load_gb_s": 0, "interrupted": 0}
// Exit status: 0, or 2 with one line on standard error.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "arguments/number_words.h"
#include "measurements.h"

using namespace numascape;
using namespace numascape::machine;

namespace {

using Options = std::map<std::string, std::string, std::less<>>;

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (std::string_view(argv[i]).substr(0, 2) != "--") {
            throw std::runtime_error(std::string("unknown option: ") + argv[i]);
        }
        options[argv[i] + 2] = argv[i + 1];
    }
    return options;
}

template <typename T>
T option(const Options& options, std::string_view name) {
    const auto found = options.find(name);
    if (found == options.end()) throw std::runtime_error("missing: --" + std::string(name));
    return number<T>(found->second);
}

template <typename T>
std::vector<T> list(const Options& options, std::string_view name) {
    const auto found = options.find(name);
    return found == options.end() ? std::vector<T>() : numbers<T>(found->second);
}

std::vector<std::size_t> sizes(const Options& options) {
    std::vector<std::size_t> values = list<std::size_t>(options, "bytes");
    if (values.empty()) throw std::runtime_error("missing: --bytes");
    std::ranges::sort(values);
    return values;
}

Effort effort(const Options& options) {
    Effort wanted;
    if (options.contains("samples")) wanted.samples = option<unsigned>(options, "samples");
    if (options.contains("sample-ms"))
        wanted.sample_s = 1e-3 * option<double>(options, "sample-ms");
    return wanted;
}

InstructionSet instructions(const Options& options) {
    const auto wanted = options.find("instructions");
    for (const InstructionSet& set : instruction_sets()) {
        if (wanted == options.end() || wanted->second == set.name) return set;
    }
    throw std::runtime_error("this processor has no " + wanted->second);
}

Operation operation(const InstructionSet& set, std::string_view name) {
    for (const Operation& candidate : set.operations) {
        if (candidate.name == name) return candidate;
    }
    throw std::runtime_error("unknown operation: " + std::string(name));
}

Report printer(const InstructionSet& set) {
    auto truth = [](bool value) { return value ? "true" : "false"; };
    return {[=](const Setting& setting) {
                std::printf(
                    "{\"instructions\": \"%s\", \"bound\": %s, \"known\": %s, "
                    "\"pages\": %zu, \"elsewhere\": %zu, \"huge_bytes\": %zu, "
                    "\"all_bytes\": %zu}\n",
                    std::string(set.name).c_str(), truth(setting.bound), truth(setting.known),
                    setting.pages, setting.elsewhere, setting.huge_bytes, setting.all_bytes);
                std::fflush(stdout);
            },
            [](const Point& point) {
                std::printf("{\"at\": %.17g, \"samples\": [", point.at);
                for (std::size_t i = 0; i < point.samples.size(); i++) {
                    std::printf("%s%.6g", i == 0 ? "" : ", ", point.samples[i]);
                }
                std::printf("], \"load_gb_s\": %.6g, \"interrupted\": %u}\n", point.load_gb_s,
                            point.interrupted);
                std::fflush(stdout);
            }};
}

void run(std::string_view kind, const Options& options) {
    const InstructionSet set = instructions(options);
    const Report report = printer(set);
    const Pinning pinning;
    if (kind == "latency") {
        measure_latency(pinning,
                        {option<unsigned>(options, "cpu"), option<int>(options, "node"),
                         sizes(options), effort(options)},
                        report);
    } else if (kind == "bandwidth") {
        const auto name = options.find("operation");
        if (name == options.end()) throw std::runtime_error("missing: --operation");
        BandwidthRequest request{operation(set, name->second),
                                 list<unsigned>(options, "cpus"),
                                 list<int>(options, "nodes"),
                                 options.contains("touch"),
                                 options.contains("alone"),
                                 options.contains("calls"),
                                 sizes(options),
                                 effort(options)};
        if (request.nodes.empty()) request.nodes.assign(request.cpus.size(), kAnyNode);
        if (request.cpus.empty() || request.cpus.size() != request.nodes.size()) {
            throw std::runtime_error("one node is needed for each CPU");
        }
        if (request.alone && request.cpus.size() > 1) {
            throw std::runtime_error("--alone is for one CPU");
        }
        measure_bandwidth(pinning, request, report);
    } else if (kind == "loaded") {
        measure_loaded_latency(pinning,
                               {option<unsigned>(options, "cpu"), option<int>(options, "node"),
                                list<unsigned>(options, "cpus"), operation(set, "read"),
                                option<std::size_t>(options, "bytes"),
                                list<unsigned>(options, "delays"), effort(options)},
                               report);
    } else if (kind == "cores") {
        measure_core_latency(
            pinning,
            {option<unsigned>(options, "from"), option<unsigned>(options, "to"), effort(options)},
            report);
    } else if (kind == "list") {
        for (const InstructionSet& each : instruction_sets()) {
            for (const Operation& op : each.operations) {
                std::printf("%s %s %u\n", std::string(each.name).c_str(),
                            std::string(op.name).c_str(), op.bytes_per_element);
            }
        }
    } else {
        throw std::runtime_error(
            "usage: probe latency | bandwidth | loaded | cores | list, with options");
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(argc > 1 ? argv[1] : "", parse(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
