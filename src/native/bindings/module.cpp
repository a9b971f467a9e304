// SPDX-License-Identifier: Apache-2.0
//
// The extension module numascape._native. Each submodule is bound in the file of its name. The
// functions of shards that are being written have a file of their own.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_balance(nb::module_& module);
void bind_counts_so_far(nb::module_& shard);
void bind_live(nb::module_& module);
void bind_memory(nb::module_& module);
void bind_shard(nb::module_& module);
void bind_signals(nb::module_& module);
void bind_source_lines(nb::module_& module);
void bind_symbols(nb::module_& module);
void bind_table(nb::module_& module);

NB_MODULE(_native, module) {
    module.doc() = "Numascape's native libraries";
    bind_table(module);
    bind_balance(module);
    bind_live(module);
    bind_memory(module);
    bind_shard(module);
    nb::module_ shard = nb::cast<nb::module_>(module.attr("shard"));
    bind_counts_so_far(shard);
    bind_signals(module);
    bind_source_lines(module);
    bind_symbols(module);
}
