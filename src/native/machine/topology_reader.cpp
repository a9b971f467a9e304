// SPDX-License-Identifier: Apache-2.0
//
// topology-reader host | root FOLDER | xml FILE | synthetic TEXT
//
// Prints a machine's topology as hwloc's XML, format 2. The source is this host, a copy of another
// host's /sys and /proc, hwloc's XML of any version, or a synthetic description. It is a separate
// process, because the input is not trusted and is parsed in C. The limits below restrict its
// memory and time, and a crash has no further effect.
//
// Exit status: 0; 2 when there is no topology in the input, with one line on standard error.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/resource.h>

#include <hwloc.h>

namespace {

// The largest machine in hwloc's own tests, 192 nodes, needs a tenth of both.
constexpr rlim_t kMemory = rlim_t{2} << 30;
constexpr rlim_t kSeconds = 60;

[[noreturn]] void fail(const std::string& reason) {
    std::fprintf(stderr, "%s\n", reason.c_str());
    std::exit(2);
}

void set(const char* name, const char* value) {
    if (setenv(name, value, 1) != 0) fail(std::strerror(errno));
}

void limit(int resource, rlim_t most) {
    const rlimit bounds{most, most};
    if (setrlimit(resource, &bounds) != 0) fail(std::strerror(errno));
}

// hwloc's behaviour depends on the environment. Variables that the user set for other programs must
// not replace this host, and hwloc must not print warnings.
void set_environment() {
    for (const char* name :
         {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_COMPONENTS"}) {
        unsetenv(name);
    }
    set("HWLOC_HIDE_ERRORS", "2");
    set("HWLOC_PLUGINS_PATH", "/nonexistent");  // they look for GPUs, which takes seconds
    set("HWLOC_LIBXML", "0");                   // hwloc's own parser knows no external entities
}

void choose_source(hwloc_topology_t topology, std::string_view kind, const char* input) {
    if (kind == "root") {
        // Only the folder, and nothing of this host, as in hwloc's own tests.
        set("HWLOC_FSROOT", input);
        set("HWLOC_DUMPED_HWDATA_DIR", "/var/run/hwloc");
        set("HWLOC_COMPONENTS", "linux,stop");
    } else if (kind == "xml") {
        if (hwloc_topology_set_xml(topology, input) != 0) fail("it is not hwloc XML");
    } else if (kind == "synthetic") {
        if (hwloc_topology_set_synthetic(topology, input) != 0) {
            fail("it is not a synthetic description");
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view kind = argc > 1 ? argv[1] : "";
    if (!(kind == "host" && argc == 2) &&
        !((kind == "root" || kind == "xml" || kind == "synthetic") && argc == 3)) {
        fail("usage: topology-reader host | root FOLDER | xml FILE | synthetic TEXT");
    }
    set_environment();
    if (kind != "host") {
        limit(RLIMIT_AS, kMemory);
        limit(RLIMIT_CPU, kSeconds);
    }
    limit(RLIMIT_CORE, 0);

    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0) fail(std::strerror(errno));
    if (kind != "host") choose_source(topology, kind, argv[2]);
    hwloc_topology_set_flags(
        topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_IMPORT_SUPPORT);
    hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MEMCACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(topology) != 0) fail("hwloc finds no machine in it");

    char* text = nullptr;
    int size = 0;
    if (hwloc_topology_export_xmlbuffer(topology, &text, &size, 0) != 0) {
        fail("hwloc cannot describe it");
    }
    const bool written = std::fwrite(text, 1, std::strlen(text), stdout) == std::strlen(text) &&
                         std::fflush(stdout) == 0;
    hwloc_free_xmlbuffer(topology, text);
    hwloc_topology_destroy(topology);
    return written ? 0 : 2;
}
