// SPDX-License-Identifier: Apache-2.0
//
// numascape._native.shard: a replayed shard as tables.
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "demangle.h"
#include "replay.h"
#include "replayed_tables.h"
#include "shard_reader.h"
#include "table.h"

namespace nb = nanobind;
using namespace numascape;

namespace {

// Rows of a replay after which the C library keeps much memory that is not needed any more.
constexpr size_t kLargeReplay = size_t{1} << 16;

nb::dict header(const ShardHeader& from) {
    nb::dict out;
    out["flags"] = from.flags;
    out["pid"] = from.pid;
    out["parent_pid"] = from.parent_pid;
    out["start_ticks"] = from.start_ticks;
    out["start_ns"] = from.start_ns;
    out["last_ticks"] = from.last_ticks;
    out["last_ns"] = from.last_ns;
    out["threads"] = from.threads;
    out["burst_groups"] = from.burst_groups;
    out["burst_levels"] = from.burst_levels;
    out["native_ns"] = from.native_ns;
    out["parent_shard"] = nb::bytes(from.parent_shard);
    out["program"] = nb::bytes(from.program);
    return out;
}

nb::list threads(const std::vector<ThreadRow>& rows) {
    nb::list out;
    for (const ThreadRow& row : rows) {
        std::vector<uint32_t> first;
        if (row.first_cpu != kUnknownCpu) first.push_back(row.first_cpu);
        out.append(nb::make_tuple(row.thread, row.os_tid, row.start, row.end,
                                  nb::bytes(row.name.data(), row.name.size()), row.cpus, first));
    }
    return out;
}

nb::list places(const std::vector<PlaceRow>& rows) {
    nb::list out;
    for (const PlaceRow& row : rows) {
        const size_t newline = std::min(row.names.find('\n'), row.names.size());
        const std::string function = symbols::readable_name(row.names.substr(0, newline).c_str());
        const std::string file = row.names.substr(std::min(newline + 1, row.names.size()));
        out.append(nb::make_tuple(row.pc, nb::bytes(function.data(), function.size()),
                                  nb::bytes(file.data(), file.size()), row.line));
    }
    return out;
}

nb::list phases(const std::vector<PhaseRow>& rows) {
    nb::list out;
    for (const PhaseRow& row : rows) {
        out.append(nb::make_tuple(row.phase, row.kind, row.repetitions, row.start, row.end,
                                  row.place, row.caller,
                                  nb::bytes(row.name.data(), row.name.size())));
    }
    return out;
}

Table switches(SwitchColumns&& columns) {
    Table out;
    out.add("phase", std::move(columns.phase));
    out.add("time", std::move(columns.time));
    return out;
}

Table hinting(HintingColumns&& columns) {
    Table out;
    out.add("thread", std::move(columns.thread));
    out.add("time", std::move(columns.time));
    return out;
}

nb::list modules(const std::vector<ModuleRow>& rows) {
    nb::list out;
    for (const ModuleRow& row : rows) {
        out.append(nb::make_tuple(nb::bytes(row.path.data(), row.path.size()), row.start, row.end,
                                  row.load_bias, row.owner));
    }
    return out;
}

nb::dict call_stacks(const std::unordered_map<uint64_t, CallStack>& stacks) {
    nb::dict out;
    std::unordered_map<uint64_t, nb::object> known;  // by address; stacks share many addresses
    for (const auto& [id, stack] : stacks) {
        nb::list frames;
        for (const uint64_t address : stack.frames) {
            nb::object& number = known[address];
            if (!number.is_valid()) number = nb::cast(address);
            frames.append(number);
        }
        out[nb::cast(id)] = nb::make_tuple(
            nb::tuple(frames), stack.registers,
            nb::bytes(reinterpret_cast<const char*>(stack.stack.data()), stack.stack.size()));
    }
    return out;
}

nb::dict touch_callers(const std::unordered_map<uint64_t, TouchingCalls>& callers) {
    nb::dict out;
    for (const auto& [id, calls] : callers) {
        out[nb::cast(id)] = nb::make_tuple(calls.frames, calls.complete);
    }
    return out;
}

nb::dict python_stacks(const std::unordered_map<uint64_t, std::vector<PythonFrameEntry>>& stacks) {
    nb::dict out;
    for (const auto& [id, instructions] : stacks) {
        nb::list frames;
        for (const PythonFrameEntry& instruction : instructions) {
            frames.append(nb::make_tuple(instruction.code, instruction.offset));
        }
        out[nb::cast(id)] = frames;
    }
    return out;
}

nb::dict python_functions(const std::unordered_map<uint64_t, PythonFunction>& functions) {
    const auto bytes = [](const std::string& text) { return nb::bytes(text.data(), text.size()); };
    nb::dict out;
    for (const auto& [id, function] : functions) {
        out[nb::cast(id)] = nb::make_tuple(
            function.version, function.first_line,
            nb::make_tuple(bytes(function.file), function.file_width),
            nb::make_tuple(bytes(function.name), function.name_width), bytes(function.lines));
    }
    return out;
}

nb::dict region_names(const std::unordered_map<uint64_t, RegionName>& names) {
    nb::dict out;
    for (const auto& [id, name] : names) {
        out[nb::cast(id)] =
            nb::make_tuple(nb::bytes(name.name.data(), name.name.size()), name.place);
    }
    return out;
}

nb::dict read_frame_sites(const std::string& path) {
    const ShardReader shard(path);
    nb::list sites;
    for (const FrameSite& site : frame_sites(shard)) {
        sites.append(nb::make_tuple(site.pc, site.flags));
    }
    std::vector<ModuleRow> loaded;
    for (const RecordView& record : shard.records()) {
        if (record.type() == RecordType::kModuleLoad) {
            const auto& module = record.as<ModuleRecord>();
            loaded.push_back({std::string(text_of(record.rest<ModuleRecord>())), module.start,
                              module.end, module.load_bias, 0});
        }
    }
    nb::dict out;
    out["sites"] = sites;
    out["modules"] = modules(loaded);
    return out;
}

using FrameRow = std::tuple<uint64_t, uint32_t, uint8_t, int64_t, uint64_t>;

FramePlaces frame_places(const std::vector<FrameRow>& rows) {
    FramePlaces places;
    for (const auto& [pc, variable, base, offset, bytes] : rows) {
        places[pc].push_back({variable, static_cast<FramePlace::Base>(base), offset, bytes});
    }
    return places;
}

nb::list path_names(const std::vector<std::string>& names) {
    nb::list out;
    for (const std::string& text : names) {
        out.append(nb::bytes(text.data(), text.size()));
    }
    return out;
}

nb::dict read_replayed(const std::string& path, const std::vector<std::string>& parent_paths,
                       const std::string& faults_path, const std::vector<FrameRow>& frames) {
    const ShardReader shard(path);
    std::vector<std::unique_ptr<ShardReader>> readers;
    std::vector<const ShardReader*> parents;
    for (const std::string& parent : parent_paths) {
        readers.push_back(std::make_unique<ShardReader>(parent));
        parents.push_back(readers.back().get());
    }
    Replay result;
    FaultLog log;
    {
        nb::gil_scoped_release unlocked;
        if (!faults_path.empty()) {
            log = read_faults(faults_path, shard.header().pid, shard.header().start_ns);
        }
        result = replay(shard, parents, log.faults, frame_places(frames));
    }
    if (result.samples.site.size() + result.counts.page.size() > kLargeReplay) malloc_trim(0);
    nb::dict out;
    out["header"] = header(shard.header());
    out["owners"] = nb::cast(owners(std::move(result.owners)));
    out["counts"] = nb::cast(counts(std::move(result.counts)));
    out["touches"] = nb::cast(touches(std::move(result.touches)));
    out["placement"] = nb::cast(placement(std::move(result.placement)));
    out["sites"] = nb::cast(sites(std::move(result.sites)));
    out["samples"] = nb::cast(samples(std::move(result.samples)));
    out["shared_samples"] = nb::cast(shared_samples(std::move(result.shared_samples)));
    out["shares"] = nb::cast(shares(std::move(result.shares)));
    out["transfers"] = nb::cast(transfers(std::move(result.transfers)));
    out["kernel_accesses"] = nb::cast(kernel_accesses(std::move(result.kernel_accesses)));
    out["instructions"] = nb::cast(instructions(std::move(result.instructions)));
    out["work"] = nb::cast(work(std::move(result.work)));
    out["seen_lines"] = nb::cast(seen_lines(std::move(result.seen_lines)));
    out["seen_in_modules"] = nb::cast(seen_in_modules(std::move(result.seen_in_modules)));
    out["sampled_paths"] = nb::cast(sampled_paths(std::move(result.sampled_paths)));
    out["calls"] = nb::cast(calls(log.calls));
    out["places"] = places(result.places);
    out["threads"] = threads(result.threads);
    out["modules"] = modules(result.modules);
    out["phases"] = phases(result.phases);
    out["switches"] = nb::cast(switches(std::move(result.switches)));
    out["hinting"] = nb::cast(hinting(std::move(result.hinting)));
    out["paths"] = path_names(result.paths);
    out["call_stacks"] = call_stacks(result.call_stacks);
    out["touch_callers"] = touch_callers(result.touch_callers);
    out["python_stacks"] = python_stacks(result.python_stacks);
    out["python_functions"] = python_functions(result.python_functions);
    out["region_names"] = region_names(result.region_names);
    out["counted"] = nb::make_tuple(result.counted.reads, result.counted.writes);
    out["ambiguous_pages"] = result.ambiguous_pages;
    out["shared_page_accesses"] = result.shared_page_accesses;
    out["lost_faults"] = log.lost;
    out["hinting_counted"] = log.hinting_counted;
    out["without_access"] = log.without_access;
    out["damaged"] = result.damaged;
    return out;
}

nb::dict read_events(const std::string& path, uint32_t pid) {
    const FaultLog log = read_faults(path, pid, 0);
    std::vector<uint64_t> time, address, pc;
    std::vector<uint32_t> tid, cpu, callers;
    std::vector<uint8_t> meaning, writes;
    for (const Fault& entry : log.faults) {
        time.push_back(entry.time_ns);
        address.push_back(entry.address);
        pc.push_back(entry.pc);
        tid.push_back(entry.tid);
        cpu.push_back(entry.cpu);
        meaning.push_back(static_cast<uint8_t>(entry.meaning));
        writes.push_back(entry.writes ? 1 : 0);
        callers.push_back(entry.callers);
    }
    Table events;
    events.add("time_ns", std::move(time));
    events.add("address", std::move(address));
    events.add("pc", std::move(pc));
    events.add("tid", std::move(tid));
    events.add("cpu", std::move(cpu));
    events.add("meaning", std::move(meaning));
    events.add("writes", std::move(writes));
    events.add("callers", std::move(callers));
    nb::dict out;
    out["events"] = nb::cast(std::move(events));
    out["calls"] = nb::cast(calls(log.calls));
    out["lost"] = log.lost;
    out["bursts"] = log.bursts;
    out["hinting_counted"] = log.hinting_counted;
    out["without_access"] = log.without_access;
    return out;
}

}  // namespace

void bind_shard(nb::module_& module) {
    nb::module_ shard = module.def_submodule("shard", "Shards: what a recorded process wrote");
    nb::exception<ShardError>(shard, "ShardError");
    shard.def(
        "read_header", [](const std::string& path) { return header(ShardReader(path).header()); },
        nb::arg("path"), "The shard's header as a dictionary; raises ShardError.");
    shard.def(
        "frame_sites", &read_frame_sites, nb::arg("path"),
        "The places in the code that make large frames, as `sites` (pc, StackFrameFlags), and "
        "the `modules` of the process as in replay(). Raises ShardError.");
    shard.def("replay", &read_replayed, nb::arg("path"), nb::arg("parents"), nb::arg("faults"),
              nb::arg("frames") = std::vector<FrameRow>{},
              "Who owned each counted page, as tables; see replay.h. Raises ShardError.");
    shard.def("read_events", &read_events, nb::arg("path"), nb::arg("pid"),
              "A process' page faults or clock samples, in order of time; see fault_log.h. Raises "
              "ShardError.");
    shard.attr("FAULT_HINTING") = static_cast<uint32_t>(FaultMeaning::kHinting);
    shard.attr("FAULT_OTHER") = static_cast<uint32_t>(FaultMeaning::kOther);
    shard.attr("NO_CALLERS") = kNoCallers;
    shard.attr("FLAG_ENDED") = static_cast<uint32_t>(kShardEnded);
    shard.attr("FLAG_DISK_FULL") = static_cast<uint32_t>(kShardDiskFull);
    shard.attr("FLAG_THREADS_LOST") = static_cast<uint32_t>(kShardThreadsLost);
    shard.attr("FLAG_DETACHED") = static_cast<uint32_t>(kShardDetached);
    shard.attr("FLAG_STACKS_CUT") = static_cast<uint32_t>(kShardStacksCut);
    shard.attr("FLAG_CALLERS_CUT") = static_cast<uint32_t>(kShardCallersCut);
    shard.attr("FLAG_FRAMES") = static_cast<uint32_t>(kShardFrames);
    shard.attr("FRAME_OF_DATA") = static_cast<uint32_t>(kFrameOfData);
    shard.attr("FLAG_REGIONS_LOST") = static_cast<uint32_t>(kShardRegionsLost);
    shard.attr("FLAG_CALLS_FORBIDDEN") = static_cast<uint32_t>(kShardCallsForbidden);
    shard.attr("FLAG_REPLACED") = static_cast<uint32_t>(kShardReplaced);
    shard.attr("FLAG_PHASES_FOLDED") = static_cast<uint32_t>(kShardPhasesFolded);
    shard.attr("FLAG_CHILDREN_LOST") = static_cast<uint32_t>(kShardChildrenLost);
    shard.attr("FLAG_BLOCKS_LOST") = static_cast<uint32_t>(kShardBlocksLost);
    shard.attr("FLAG_ATTACHED") = static_cast<uint32_t>(kShardAttached);
}
