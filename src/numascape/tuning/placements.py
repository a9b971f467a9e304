# SPDX-License-Identifier: Apache-2.0
"""A plan in the addresses of a running process: ranges, and where their pages should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from numascape.live.mappings import Mapping as LiveMapping
from numascape.live.parts import Part
from numascape.live.policies import PageByPage, Placement, policy_of_rule
from numascape.plan.plan import Plan, StructureRule
from numascape.prediction.policies import rules_of_structures
from numascape.trace.format import PAGE_BYTES
from numascape.tuning.addresses import KEY, LivingTrace


@dataclass(frozen=True)
class StructureAdvice:
    """A structure, its share of the accesses, its bytes by node now, and the plan's rule."""

    name: str
    bytes: int
    share: float
    before: dict[int, int]
    rule: StructureRule


def known_rules(living: LivingTrace, plan: Plan) -> dict[int, StructureRule]:
    """By structure: the rules for structures of the process whose addresses are known."""
    known = set(living.instances["structure"].to_list())
    owner, named = living.structures["process"], living.structures["named"]
    return {
        number: rule
        for number, rule in rules_of_structures(living, plan).items()
        if number in known and named[number] and owner[number] == living.process
    }


def placements(
    living: LivingTrace,
    mappings: Sequence[LiveMapping],
    rules: Mapping[int, StructureRule],
    planned: pl.DataFrame,
) -> Iterator[tuple[Part, Placement]]:
    """The ranges of each structure with a rule, and where their pages should be.

    `planned` has the node of each page that the process used, as placed_by_plan gives it. A rule
    `first-touch` is followed page by page; the others also place pages that were not used.
    """
    addresses = _page_addresses(planned, living.instances)
    names = living.structures["name"]
    chosen = living.instances.filter(pl.col("structure").is_in(list(rules))).sort("address")
    for number, start, size in chosen.select("structure", "address", "size").iter_rows():
        policy = policy_of_rule(rules[number])
        placement: Placement
        if policy is None:
            placement = _page_by_page(addresses, start, start + size)
        else:
            placement = replace(policy, whole=(start, start + size))
        for part in _pieces(mappings, start, start + size, names[number]):
            yield part, placement


def _pieces(mappings: Sequence[LiveMapping], start: int, end: int, name: str) -> Iterator[Part]:
    """The whole pages of a range of addresses, by mapping."""
    for number, mapping in enumerate(mappings):
        size = mapping.page_bytes
        first = max(mapping.start, -(-start // size) * size)
        last = min(mapping.end, end // size * size)
        if first < last:
            yield Part(number, first, last, size, name, "heap")


def _page_addresses(planned: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """The address and node of each page that is planned to be on one node, by address."""
    return (
        planned.filter(pl.col("share") == 1.0)
        .join(instances, on=KEY[:2])
        .select("node", at=(pl.col("address") // PAGE_BYTES + pl.col("page")) * PAGE_BYTES)
        .sort("at")
        .unique("at", keep="first", maintain_order=True)
    )


def _page_by_page(pages: pl.DataFrame, start: int, end: int) -> PageByPage:
    mine = pages.filter((pl.col("at") >= start // PAGE_BYTES * PAGE_BYTES) & (pl.col("at") < end))
    return PageByPage(
        mine["at"].to_numpy().astype(np.uint64), mine["node"].to_numpy().astype(np.int32)
    )


def structure_advice(
    living: LivingTrace, rules: Mapping[int, StructureRule]
) -> Iterator[StructureAdvice]:
    """The advice for each structure, the most used first."""
    count = pl.col("reads") + pl.col("writes")
    by_use = living.accesses.group_by("structure").agg(count=count.sum())
    every = max(1, int(by_use["count"].sum()))
    held = living.placement.group_by("structure", "node").len()
    names = living.structures["name"]
    for number, used in by_use.sort("count", "structure", descending=[True, False]).iter_rows():
        if number in rules:
            mine = held.filter(pl.col("structure") == number).sort("node")
            before = {
                node: PAGE_BYTES * pages for node, pages in mine.select("node", "len").iter_rows()
            }
            yield StructureAdvice(
                names[number], sum(before.values()), used / every, before, rules[number]
            )
