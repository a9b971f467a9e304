// SPDX-License-Identifier: Apache-2.0
// Computes what is shown of predictions: the scale of their times, their traffic, pages by node.

import type { Policy, Prediction } from "../data/prediction";
import type { CsvTable } from "./csv";
import { summedUp } from "./traffic";
import type { NodeTraffic } from "./traffic";

/** The end of the axis of times, relative to the observed run, which is 1. */
export function longest(policies: readonly Policy[]): number {
  return policies.reduce((most, { high }) => Math.max(most, high ?? 0), 1);
}

/** The bytes between nodes as a matrix with an empty row and column of unknown nodes. */
export function trafficOfPolicy({ nodes, traffic }: Policy): NodeTraffic {
  const size = nodes.length + 1;
  const bytes = new Float64Array(size * size);
  nodes.forEach((_, row) =>
    nodes.forEach((__, column) => {
      bytes[row * size + column] = traffic[row * nodes.length + column] ?? 0;
    }),
  );
  return summedUp([...nodes], bytes);
}

export interface NodePart {
  /** Position of the node, and its share of the structure's pages. */
  node: number;
  share: number;
}

/** The nodes with pages of a structure; empty if it is not known. */
export function nodeParts({ pages }: Policy, structure: number): NodePart[] {
  const counts = pages[structure] ?? [];
  const all = counts.reduce((sum, count) => sum + count, 0);
  return counts.flatMap((count, node) => (count > 0 ? [{ node, share: count / all }] : []));
}

export function policyTable({ policies }: Prediction): CsvTable {
  const numbers = ["relative", "low", "high", "seconds", "remote", "extra_bytes"] as const;
  return {
    columns: ["policy", ...numbers, "limited_by"],
    rows: policies.map((one) => [one.label, ...numbers.map((name) => one[name]), one.limit]),
  };
}

export function bytesTable(policies: readonly Policy[]): CsvTable {
  return {
    columns: ["policy", "cpu_node", "memory_node", "bytes"],
    rows: policies.flatMap(({ label, nodes, traffic }) =>
      traffic.map((bytes, i) => [
        ...[label, nodes[Math.floor(i / nodes.length)]!, nodes[i % nodes.length]!, bytes],
      ]),
    ),
  };
}

export function pagesTable({ policies, structures }: Prediction): CsvTable {
  return {
    columns: ["policy", "structure", "node", "pages", "copied"],
    rows: policies.flatMap(({ label, nodes, pages, copied }) =>
      structures.flatMap(({ name }, s) =>
        (pages[s] ?? []).map((count, n) => [
          ...[label, name, nodes[n]!, count, copied.includes(s) ? 1 : 0],
        ]),
      ),
    ),
  };
}
