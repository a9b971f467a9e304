// SPDX-License-Identifier: Apache-2.0
#include "replayed_tables.h"

#include <utility>
#include <vector>

namespace numascape {

Table owners(Owners&& columns) {
    Table out;
    out.add("kind", std::move(columns.kind));
    out.add("start", std::move(columns.start));
    out.add("bytes", std::move(columns.bytes));
    out.add("stack_id", std::move(columns.stack_id));
    out.add("thread", std::move(columns.thread));
    out.add("path", std::move(columns.path));
    out.add("flags", std::move(columns.flags));
    out.add("blocks", std::move(columns.blocks));
    out.add("object", std::move(columns.object));
    out.add("object_start", std::move(columns.object_start));
    return out;
}

Table counts(CountColumns&& columns) {
    Table out;
    out.add("owner", std::move(columns.owner));
    out.add("page", std::move(columns.page));
    out.add("thread", std::move(columns.thread));
    out.add("phase", std::move(columns.phase));
    out.add("reads", std::move(columns.reads));
    out.add("writes", std::move(columns.writes));
    out.add("fetched_lines", std::move(columns.fetched_lines));
    out.add("dirtied_lines", std::move(columns.dirtied_lines));
    return out;
}

Table touches(TouchColumns&& columns) {
    Table out;
    out.add("owner", std::move(columns.owner));
    out.add("page", std::move(columns.page));
    out.add("thread", std::move(columns.thread));
    out.add("phase", std::move(columns.phase));
    out.add("time", std::move(columns.time));
    out.add("pc", std::move(columns.pc));
    out.add("callers", std::move(columns.callers));
    out.add("flags", std::move(columns.flags));
    return out;
}

Table placement(PlacementColumns&& columns) {
    Table out;
    out.add("owner", std::move(columns.owner));
    out.add("page", std::move(columns.page));
    out.add("node", std::move(columns.node));
    return out;
}

Table sites(SiteColumns&& columns) {
    Table out;
    out.add("site", std::move(columns.site));
    out.add("phase", std::move(columns.phase));
    out.add("pc", std::move(columns.pc));
    out.add("reads", std::move(columns.reads));
    out.add("writes", std::move(columns.writes));
    out.add("executions", std::move(columns.executions));
    return out;
}

Table samples(SampleColumns&& columns) {
    Table out;
    out.add("site", std::move(columns.site));
    out.add("phase", std::move(columns.phase));
    out.add("owner", std::move(columns.owner));
    out.add("page", std::move(columns.page));
    out.add("weight", std::move(columns.weight));
    out.add("whole", std::move(columns.whole));
    return out;
}

Table shared_samples(SharedSampleColumns&& columns) {
    Table out;
    out.add("site", std::move(columns.site));
    out.add("phase", std::move(columns.phase));
    out.add("group", std::move(columns.group));
    out.add("weight", std::move(columns.weight));
    return out;
}

Table shares(ShareColumns&& columns) {
    Table out;
    out.add("group", std::move(columns.group));
    out.add("owner", std::move(columns.owner));
    out.add("share", std::move(columns.share));
    return out;
}

Table transfers(TransferColumns&& columns) {
    Table out;
    out.add("owner", std::move(columns.owner));
    out.add("page", std::move(columns.page));
    out.add("thread", std::move(columns.thread));
    out.add("from_thread", std::move(columns.from_thread));
    out.add("phase", std::move(columns.phase));
    out.add("line", std::move(columns.line));
    out.add("from_pc", std::move(columns.from_pc));
    out.add("to_pc", std::move(columns.to_pc));
    out.add("from_bytes", std::move(columns.from_bytes));
    out.add("to_bytes", std::move(columns.to_bytes));
    out.add("transfers", std::move(columns.transfers));
    out.add("travelling", std::move(columns.travelling));
    out.add("judged", std::move(columns.judged));
    out.add("shared", std::move(columns.shared));
    return out;
}

Table kernel_accesses(KernelAccessColumns&& columns) {
    Table out;
    out.add("owner", std::move(columns.owner));
    out.add("page", std::move(columns.page));
    out.add("thread", std::move(columns.thread));
    out.add("phase", std::move(columns.phase));
    out.add("read_bytes", std::move(columns.read_bytes));
    out.add("written_bytes", std::move(columns.written_bytes));
    return out;
}

Table instructions(InstructionColumns&& columns) {
    Table out;
    out.add("thread", std::move(columns.thread));
    out.add("phase", std::move(columns.phase));
    out.add("instructions", std::move(columns.instructions));
    return out;
}

Table work(WorkColumns&& columns) {
    Table out;
    out.add("thread", std::move(columns.thread));
    out.add("level", std::move(columns.level));
    out.add("units", std::move(columns.units));
    out.add("counted_units", std::move(columns.counted_units));
    out.add("bursts", std::move(columns.bursts));
    out.add("burst_units", std::move(columns.burst_units));
    return out;
}

Table seen_lines(SeenLineColumns&& columns) {
    Table out;
    out.add("owner", std::move(columns.owner));
    out.add("page", std::move(columns.page));
    out.add("thread", std::move(columns.thread));
    out.add("phase", std::move(columns.phase));
    out.add("line", std::move(columns.line));
    out.add("lines", std::move(columns.lines));
    out.add("bytes", std::move(columns.bytes));
    out.add("times", std::move(columns.times));
    out.add("alone", std::move(columns.alone));
    out.add("writing", std::move(columns.writing));
    return out;
}

Table seen_in_modules(SeenInModuleColumns&& columns) {
    Table out;
    out.add("owner", std::move(columns.owner));
    out.add("page", std::move(columns.page));
    out.add("first", std::move(columns.first));
    out.add("last", std::move(columns.last));
    out.add("lines", std::move(columns.lines));
    out.add("times", std::move(columns.times));
    return out;
}

Table sampled_paths(SampledPathColumns&& columns) {
    Table out;
    out.add("owner", std::move(columns.owner));
    out.add("page", std::move(columns.page));
    out.add("thread", std::move(columns.thread));
    out.add("phase", std::move(columns.phase));
    out.add("line", std::move(columns.line));
    out.add("callers", std::move(columns.callers));
    out.add("pc", std::move(columns.pc));
    out.add("writes", std::move(columns.writes));
    return out;
}

Table calls(const std::unordered_map<uint32_t, SampledCall>& by_number) {
    std::vector<uint32_t> number, callers;
    std::vector<uint64_t> pc;
    for (const auto& [call, known] : by_number) {
        number.push_back(call);
        callers.push_back(known.callers);
        pc.push_back(known.pc);
    }
    Table out;
    out.add("number", std::move(number));
    out.add("callers", std::move(callers));
    out.add("pc", std::move(pc));
    return out;
}

}  // namespace numascape
