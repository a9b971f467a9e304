// SPDX-License-Identifier: Apache-2.0
import * as show from "../model/format";
import type { NodeTraffic } from "../model/traffic";

/** Nodes from which on only their numbers fit. */
const DENSE = 8;
const UNCERTAIN = "several or unknown";

/** The bands of the drawing as numbers: threads' nodes by pages' nodes. */
export function TrafficMatrix({ traffic }: { traffic: NodeTraffic }) {
  const { nodes, size, accesses, rowSums, columnSums, split } = traffic;
  const all = Math.max(1, split.local + split.remote + split.unknown);
  const most = Math.max(1, ...accesses);
  const dense = nodes.length > DENSE;
  const rows = Array.from({ length: size }, (_, i) => i).filter(
    (i) => i < nodes.length || rowSums[i]! > 0,
  );
  const columns = Array.from({ length: size }, (_, i) => i).filter(
    (i) => i < nodes.length || columnSums[i]! > 0,
  );
  return (
    <div class="matrix-frame" tabIndex={0} role="region" aria-label="Traffic between nodes">
      <table class={dense ? "traffic dense" : "traffic"}>
        <caption class="unseen-caption">Accesses by the node of the thread and of the page</caption>
        <thead>
          <tr>
            <td>
              <span class="corner">
                {dense ? "threads ↓ pages →" : "threads on ↓ · pages on →"}
              </span>
            </td>
            {columns.map((column) => (
              <th key={column} scope="col" class="number">
                {dense && column < nodes.length
                  ? nodes[column]
                  : nameOf(nodes, column, dense ? "?" : "unknown")}
              </th>
            ))}
            <th scope="col" class="number">
              all
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              <th scope="row" title={row === nodes.length ? UNCERTAIN : undefined}>
                {nameOf(nodes, row, dense ? "?" : UNCERTAIN)}
              </th>
              {columns.map((column) => {
                const number = accesses[row * size + column]!;
                return (
                  <td
                    key={column}
                    class={`number ${kindOf(nodes.length, row, column)}`}
                    style={{ "--strength": Math.sqrt(number / most).toFixed(3) }}
                    title={`${show.count(number)} accesses`}
                  >
                    {number === 0 ? <span class="zero">–</span> : show.share(number / all)}
                  </td>
                );
              })}
              <td class="number sum">{show.share(rowSums[row]! / all)}</td>
            </tr>
          ))}
          <tr>
            <th scope="row">all</th>
            {columns.map((column) => (
              <td key={column} class="number sum">
                {show.share(columnSums[column]! / all)}
              </td>
            ))}
            <td class="number sum">{show.short(all)}</td>
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function nameOf(nodes: number[], index: number, otherwise: string): string {
  return index < nodes.length ? `node ${nodes[index]}` : otherwise;
}

function kindOf(nodes: number, row: number, column: number): string {
  if (row === nodes || column === nodes) return "unknown";
  return row === column ? "local" : "remote";
}
