# SPDX-License-Identifier: Apache-2.0
"""XML of hwloc 3, which hwloc 2 refuses, is read like that of hwloc 2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.machine import Machine, MachineNode, numa_factors, open_machine
from numascape.machine.hwloc_xml import format_version

# hwloc's own repository has files that hwloc 3 wrote (tests/hwloc/xml). The variable names a folder
# with them, and one with files of hwloc 2 for the same machines: NEW:OLD (CONTRIBUTING.md).
XML_FOLDERS = "NUMASCAPE_HWLOC_XML"

# The format of `lstopo` of hwloc 3: facts about the whole machine are beside the objects, memory
# has a kind, and the CPUs of a value are a set or an object.
TWO_AND_GPU = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc3.dtd">
<topology version="3.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f"
          allowed_cpuset="0x0000000f" nodeset="0x7" allowed_nodeset="0x7" gp_index="1">
    <object type="NUMANode" os_index="2" cpuset="0x0000000f" nodeset="0x4" gp_index="9"
            subtype="GPUMemory" local_memory="2097152">
      <page_type size="4096" count="512"/>
    </object>
    <object type="Package" os_index="0" cpuset="0x00000003" gp_index="2">
      <info name="CPUModel" value="A processor"/>
      <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x1" gp_index="3"
              subtype="DRAM" local_memory="1048576"/>
      <object type="L3Cache" cpuset="0x00000003" gp_index="4" cache_size="16384" depth="3"
              cache_linesize="64" cache_type="0">
        <object type="Core" os_index="0" cpuset="0x00000001" gp_index="5">
          <object type="PU" os_index="0" cpuset="0x00000001" gp_index="6"/>
        </object>
        <object type="Core" os_index="1" cpuset="0x00000002" gp_index="7">
          <object type="PU" os_index="1" cpuset="0x00000002" gp_index="8"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" gp_index="10">
      <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x2" gp_index="11"
              subtype="DRAM" local_memory="1048576"/>
      <object type="Core" os_index="2" cpuset="0x0000000c" gp_index="12">
        <object type="PU" os_index="2" cpuset="0x00000004" gp_index="13"/>
        <object type="PU" os_index="3" cpuset="0x00000008" gp_index="14"/>
      </object>
    </object>
  </object>
  <support name="discovery.pu"/>
  <distances2 type="NUMANode" nbobjs="3" kind="5" name="NUMALatency" indexing="os">
    <indexes length="6">0 1 2 </indexes>
    <u64values length="27">10 20 40 20 10 50 40 50 10 </u64values>
  </distances2>
  <memattr name="Latency" flags="6">
    <memattr_value target_obj_type="NUMANode" target_obj_gp_index="3" value="100"
                   initiator_cpuset="0x00000003"/>
    <memattr_value target_obj_type="NUMANode" target_obj_gp_index="11" value="180"
                   initiator_obj_gp_index="2" initiator_obj_type="Package"/>
  </memattr>
  <info name="Backend" value="Linux"/>
  <info name="hwlocVersion" value="3.0.0"/>
  <info name="DMIProductName" value="A product"/>
</topology>
"""


def test_a_machine_of_hwloc_3_is_read(tmp_path: Path) -> None:
    file = tmp_path / "machine.xml"
    file.write_text(TWO_AND_GPU)
    machine = open_machine(str(file))
    assert machine.name == "A processor"
    assert machine.nodes == (
        MachineNode(0, (0, 1), 1 << 20, "DRAM"),
        MachineNode(1, (2, 3), 1 << 20, "DRAM"),
        MachineNode(2, (), 2 << 20, "GPUMemory"),
    )
    assert machine.packages == ((0, 1), (2, 3))
    assert machine.cores == ((0,), (1,), (2, 3))
    assert machine.page_sizes == (4096,)
    assert machine.provenance is not None
    assert machine.provenance.source.endswith("through hwloc 3.0.0")
    # From latencies if they are known, otherwise from distances.
    assert numa_factors(machine).values == ((1.0, 1.8, 4.0), (2.0, 1.0, 5.0), (None, None, None))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('version="3.0"', 'version="4.1"', "XML format 4, and 3 is the newest.*--export-xml-flags"),
        ('cache_type="0"', "", "cannot be understood"),
        ("20 10 50", "20 10", "not square"),
        ('SYSTEM "hwloc3.dtd"', '[<!ENTITY a "b">]', "defines some"),
        ("</topology>", "", "cannot be understood"),
        ('os_index="2" cpuset="0x0000000f" nodeset="0x4"', 'os_index="1"', "the same number"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(
    old: str, new: str, reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "machine.xml"
    assert old in TWO_AND_GPU
    file.write_text(TWO_AND_GPU.replace(old, new))
    with pytest.raises(NumascapeError, match=reason) as raised:
        open_machine(str(file))
    assert "\n" not in str(raised.value)


def facts(machine: Machine) -> tuple[object, ...]:
    """The facts that both formats have. hwloc 3 no longer writes the sizes of pages."""
    matrices = (machine.distances, *machine.latencies, *machine.bandwidths)
    values = [matrix.values for matrix in matrices if matrix is not None]
    groups = [other.groups for other in machine.groups]
    return (
        machine.nodes, machine.packages, machine.cores, machine.caches, groups,
        machine.allowed_cpus, machine.allowed_nodes, values,
    )  # fmt: skip


@pytest.mark.skipif(XML_FOLDERS not in os.environ, reason=f"needs files of hwloc 3: {XML_FOLDERS}")
def test_real_files_of_hwloc_3_say_what_those_of_hwloc_2_say() -> None:
    new, old = (Path(name) for name in os.environ[XML_FOLDERS].split(":"))
    files = [f for f in sorted(new.glob("*.xml")) if format_version(f.read_bytes()) == 3]
    machines = {file.name: open_machine(str(file)) for file in files}
    assert machines
    compared = [name for name in machines if (old / name).exists()]
    assert compared
    for name in compared:
        assert facts(machines[name]) == facts(open_machine(str(old / name))), name


def test_a_file_without_the_sizes_of_pages_is_read(tmp_path: Path) -> None:
    """The format that hwloc 3 writes today."""
    file = tmp_path / "machine.xml"
    page = '      <page_type size="4096" count="512"/>\n'
    assert page in TWO_AND_GPU
    file.write_text(TWO_AND_GPU.replace(page, ""))
    assert open_machine(str(file)).page_sizes == ()
