// SPDX-License-Identifier: Apache-2.0
//
// The options of the DynamoRIO client.
//
// -directory DIR        where the shards go
// -no-stack             accesses relative to the stack pointer are not counted
// -files SOCKET SECRET  the server of files, for a process that may not create them
// -no-source-lines      it is not recorded which instructions touch which structure
// -attached             the program was running before
// -no-regions           parallel regions are no phases
// -no-marks             the program's marks are no phases
// -every NS             time slices of this many nanoseconds are the phases
// -tables N             at most N tables of counters are used
// -bursts N GAP         only bursts of N units of work are counted, one in each N + GAP units
//                       (bursts.h)
// -cost N               the gaps change, so that the CPU time is N / 1000 of that without recording
//                       (burst_cost.h)
// -cache W S L          threads have caches of W ways and 2^S sets of 2^L bytes; lines from memory
//                       are counted, too

#include <string_view>

#include "dr_api.h"
#include "recorder.h"
#include "shard_files.h"

namespace numascape {

ClientOptions options{{0}, true, true, false, true, true, 0, kMaxTables, {}, 0, 0, 0};

namespace {

uint64_t number_of(const char* text) {
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        number = number * 10 + static_cast<uint64_t>(*text - '0');
    }
    return number;
}

}  // namespace

bool parse_options(int argc, const char* argv[]) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "-directory" && i + 1 < argc) {
            dr_snprintf(options.directory, sizeof options.directory, "%s", argv[++i]);
            options.directory[sizeof options.directory - 1] = '\0';
        } else if (option == "-files" && i + 2 < argc) {
            serve_shard_files_by(argv[i + 1], argv[i + 2]);
            i += 2;
        } else if (option == "-no-stack") {
            options.count_stack = false;
        } else if (option == "-no-source-lines") {
            options.source_lines = false;
        } else if (option == "-attached") {
            options.attached = true;
        } else if (option == "-no-regions") {
            options.regions = false;
        } else if (option == "-no-marks") {
            options.marks = false;
        } else if (option == "-every" && i + 1 < argc) {
            options.every_ns = number_of(argv[++i]);
        } else if (option == "-tables" && i + 1 < argc) {
            options.max_tables = static_cast<uint32_t>(number_of(argv[++i]));
        } else if (option == "-bursts" && i + 2 < argc) {
            options.burst_units = number_of(argv[++i]);
            options.gap_units = number_of(argv[++i]);
        } else if (option == "-cost" && i + 1 < argc) {
            options.cost = number_of(argv[++i]);
        } else if (option == "-cache" && i + 3 < argc) {
            options.cache.ways = static_cast<uint32_t>(number_of(argv[++i]));
            options.cache.set_bits = static_cast<uint32_t>(number_of(argv[++i]));
            options.cache.line_bits = static_cast<uint32_t>(number_of(argv[++i]));
            if (!modelled_shape(options.cache)) {
                dr_fprintf(STDERR, "numascape: the recorder cannot model such a cache\n");
                return false;
            }
        } else {
            dr_fprintf(STDERR, "numascape: the recorder does not know the option %s\n", argv[i]);
            return false;
        }
    }
    return options.directory[0] != '\0';
}

}  // namespace numascape
