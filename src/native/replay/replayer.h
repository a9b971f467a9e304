// SPDX-License-Identifier: Apache-2.0
//
// The state of a replay: the memory of the process after the events that were replayed so far.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "exception_reserve.h"
#include "fault_log.h"
#include "first_touches.h"
#include "owner_counts.h"
#include "page_owners.h"
#include "pending_accesses.h"
#include "placed_code.h"
#include "replay.h"
#include "replayed_mappings.h"
#include "replayed_threads.h"
#include "shard_reader.h"
#include "site_counts.h"
#include "stack_frame_variables.h"

namespace numascape {

class Replayer {
  public:
    Replayer(Replay& out, const FramePlaces& frame_places)
        : out_(out),
          frames_(frame_places),
          owners_(out.owners, out.paths),
          touches_(owners_, out.touches),
          threads_(out.threads),
          counts_(owners_, threads_, out),
          pending_(owners_, counts_, sites_, out),
          mappings_(owners_, touches_, pending_) {}

    // Reads what replaying needs to know before: small blocks, call stacks, starts of threads, and
    // the descriptions of blocks of code. Those of parent processes hold, too.
    void prepare(const std::vector<RecordView>& records);
    void run(std::vector<RecordView> records, const std::vector<Fault>& faults,
             const ShardHeader& header);
    void finish(const ShardReader& shard);
    // Adds up what the log's records count.
    void add_counted(const std::vector<RecordView>& records);

  private:
    void add_counted(CountPair counts) {
        out_.counted.reads += counts.reads;
        out_.counted.writes += counts.writes;
    }
    bool can_have_region(const MemoryRegionRecord& region) const;
    void expect_owners(const RecordView& record);
    void look_ahead(const std::vector<RecordView>& records, const std::vector<Fault>& faults,
                    std::string_view program);
    void apply(const RecordView& record);
    void apply_to_memory(const RecordView& record);
    void apply(const Fault& fault, uint64_t time, uint64_t since);
    void count_pages(const RecordView& record);
    std::optional<Fault> fault_of_program(Fault fault) const;
    void count_blocks_of_code(const RecordView& record);
    void add_instructions();
    void thread_start(const RecordView& record);
    void thread_end(const RecordView& record);
    void module_load(const RecordView& record);
    void module_unload(const RecordView& record);
    void alloc(const RecordView& record);
    void free_block(const RecordView& record);
    void begin_region(const RecordView& record);
    void end_region(const RecordView& record);
    void end_region(uint32_t owner, uint64_t time);
    void end_regions_within(uint64_t start, uint64_t bytes, uint64_t time);
    void begin_thread_variables(const RecordView& record);
    void begin_frame(const RecordView& record);
    void end_frame(const RecordView& record);
    void first_touch(const RecordView& record);
    void placement(const RecordView& record);
    void phase(const RecordView& record);

    Replay& out_;
    StackFrameVariables frames_;
    PageOwners owners_;
    FirstTouches touches_;
    ReplayedThreads threads_;
    OwnerCounts counts_;
    SiteCounts sites_;
    PendingAccesses pending_;
    ReplayedMappings mappings_;
    bool with_faults_ = false;
    bool of_bursts_ = false;  // only bursts were counted
    PlacedCode placed_code_;
    std::set<uint64_t> used_windows_;  // of 2^40 bytes, where the program has mappings
    // By thread and phase; modulo 2^64, see InstructionsRecord.
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> instructions_;
    uint32_t phase_ = 0;  // of all threads, at this time of the replay
    ExceptionReserve reserve_;
};

}  // namespace numascape
