// SPDX-License-Identifier: Apache-2.0
import type { ShownMatrix } from "../../data/machine-page";
import type { CsvTable } from "../../saving/csv";
import { SaveMenu } from "../page/save-menu";

interface Props {
  matrix: ShownMatrix;
  nodes: number[];
}

/** One number for each pair of nodes; a stronger colour is a larger number. */
export function NodeMatrix({ matrix, nodes }: Props) {
  const { title, unit, values, sources } = matrix;
  const known = values.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const id = `matrix-${title.replace(/\W+/g, "-").toLowerCase()}`;
  return (
    <section class="panel" aria-labelledby={id} data-figure>
      <div class="heading">
        <h2 id={id}>
          {title} <small>{unit}</small>
        </h2>
        <SaveMenu title={title} table={() => matrixTable(matrix, nodes)} />
      </div>
      <div class="matrix-frame" tabIndex={0} role="group" aria-label={`${title} between nodes`}>
        <table class="traffic" aria-labelledby={id}>
          <thead>
            <tr>
              <td>
                <span class="corner">from ↓ to memory of →</span>
              </td>
              {nodes.map((node) => (
                <th key={node} scope="col" class="number">
                  node {node}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {values.map((row, i) =>
              row.every((value) => value === null) ? null : (
                <tr key={i}>
                  <th scope="row">node {nodes[i]}</th>
                  {row.map((value, j) => (
                    <td
                      key={j}
                      class={`number ${i === j ? "local" : "remote"}`}
                      style={{ "--strength": strength(value, low, high).toFixed(3) }}
                    >
                      {value === null ? <span class="zero">–</span> : value.toFixed(matrix.digits)}
                    </td>
                  ))}
                </tr>
              ),
            )}
          </tbody>
        </table>
      </div>
      {sources.map((source) => (
        <p class="how" key={source}>
          {source}
        </p>
      ))}
    </section>
  );
}

function strength(value: number | null, low: number, high: number): number {
  if (value === null) return 0;
  return high > low ? 0.15 + (0.85 * (value - low)) / (high - low) : 0.5;
}

function matrixTable({ title, values }: ShownMatrix, nodes: number[]): CsvTable {
  return {
    columns: ["cpu_node", "memory_node", title.replace(/\W+/g, "_").toLowerCase()],
    rows: values.flatMap((row, i) => row.map((value, j) => [nodes[i]!, nodes[j]!, value])),
  };
}
