// SPDX-License-Identifier: Apache-2.0
import type { Machine } from "../../data/report";
import * as show from "../../model/format";
import { factorText, pairOf } from "../../model/node-distance";
import type { NodeTraffic } from "../../model/traffic";
import { isDense, matrixClass } from "./matrix-size";
import { Wide } from "../elements/wide";

/** Names of uncertain nodes, for the same nodes as in the drawing. */
const UNCERTAIN = { threads: "ran on several nodes, or unknown", pages: "on an unknown node" };

interface Props {
  machine: Machine;
  traffic: NodeTraffic;
  /** What is counted, in the plural. */
  unit: string;
  label?: string;
}

/** The bands of the drawing as numbers: threads' nodes by pages' nodes; below, NUMA factors. */
export function TrafficMatrix({ machine, traffic, unit, label }: Props) {
  const { nodes, accesses, rowSums, columnSums, split } = traffic;
  const most = Math.max(1, ...accesses);
  const all = Math.max(1, split.local + split.remote + split.unknown);
  const dense = isDense(nodes.length);
  const rows = shownOf(traffic, rowSums);
  const columns = shownOf(traffic, columnSums);
  return (
    <Wide class="matrix-frame" label={label ?? "Traffic between nodes"}>
      <table class={matrixClass(nodes.length)}>
        <caption class="unseen-caption">By the node of the thread and of the page: {unit}</caption>
        <thead>
          <tr>
            <td>
              <span class="corner">threads ↓ pages →</span>
            </td>
            {columns.map((column) => (
              <th
                key={column}
                scope="col"
                class="number"
                title={column === nodes.length ? UNCERTAIN.pages : undefined}
              >
                {dense && column < nodes.length ? nodes[column] : nameOf(nodes, column, dense)}
              </th>
            ))}
            <th scope="col" class="number">
              all
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row} {...{ machine, traffic, unit, row, columns, most, all }} />
          ))}
          <tr>
            <th scope="row">all</th>
            {columns.map((column) => (
              <td key={column} class="number sum">
                {show.share(columnSums[column]! / all)}
              </td>
            ))}
            <td class="number sum" title={unit}>
              {unit === "bytes" ? show.bytes(all) : show.short(all)}
            </td>
          </tr>
        </tbody>
      </table>
    </Wide>
  );
}

/** All nodes, and the row of several or unknown nodes if it has accesses. */
function shownOf({ nodes, size }: NodeTraffic, sums: ArrayLike<number>): number[] {
  return Array.from({ length: size }, (_, i) => i).filter((i) => i < nodes.length || sums[i]! > 0);
}

interface RowProps extends Omit<Props, "label"> {
  row: number;
  columns: number[];
  /** The most accesses of a cell, and those of all cells. */
  most: number;
  all: number;
}

function Row({ machine, traffic, unit, row, columns, most, all }: RowProps) {
  const { nodes, size, accesses, rowSums } = traffic;
  return (
    <tr>
      <th scope="row" title={row === nodes.length ? UNCERTAIN.threads : undefined}>
        {nameOf(nodes, row, isDense(nodes.length))}
      </th>
      {columns.map((column) => {
        const number = accesses[row * size + column]!;
        const { factor, latency } = pairOf(machine, nodes[row], nodes[column]);
        return (
          <td
            key={column}
            class={`number ${kindOf(nodes.length, row, column)}`}
            style={{ "--strength": Math.sqrt(number / most).toFixed(3) }}
            title={told(number, unit, factor, latency)}
          >
            {number === 0 ? <span class="zero">–</span> : show.share(number / all)}
            {factor !== undefined && row !== column && (
              <span class="factor">{factorText(factor)}</span>
            )}
          </td>
        );
      })}
      <td class="number sum">{show.share(rowSums[row]! / all)}</td>
    </tr>
  );
}

function told(number: number, unit: string, factor?: number, latency?: number): string {
  const parts = [`${show.count(number)} ${unit}`];
  if (factor !== undefined) parts.push(`NUMA factor ${factor.toFixed(2)}`);
  if (latency !== undefined) parts.push(`read latency ${latency.toFixed(0)} ns`);
  return parts.join(", ");
}

function nameOf(nodes: number[], index: number, dense: boolean): string {
  if (index === nodes.length) return dense ? "?" : "uncertain";
  return `node ${nodes[index]}`;
}

function kindOf(nodes: number, row: number, column: number): string {
  if (row === nodes || column === nodes) return "unknown";
  return row === column ? "local" : "remote";
}
