// SPDX-License-Identifier: Apache-2.0
import type { CsvTable } from "../../model/csv";
import { SaveMenu } from "../page/save-menu";
import { MatrixLegend } from "./matrix-legend";
import { isDense, matrixClass } from "./matrix-size";
import { Wide } from "../elements/wide";

interface Props {
  title: string;
  unit: string;
  /** The values by row and column; null: unknown. */
  values: readonly (readonly (number | null)[])[];
  text: (value: number) => string;
  /** The colour of a value, from the lightest to the strongest one. */
  strength: (value: number) => number;
  nodes: readonly (number | string)[];
  corner: string;
  /** Columns of the saved table, for rows and columns of this one. */
  ends: readonly [string, string];
  notes?: readonly string[];
}

/** One number for each pair of nodes; a stronger colour is a larger number. */
export function NodeMatrix(props: Props) {
  const { title, unit, values, text, strength, nodes, corner, notes = [] } = props;
  const dense = isDense(nodes.length);
  const id = `matrix-${title.replace(/\W+/g, "-").toLowerCase()}`;
  return (
    <section class="panel" aria-labelledby={id} data-figure>
      <div class="heading">
        <h2 id={id}>
          {title} <small>{unit}</small>
        </h2>
        <SaveMenu title={title} table={() => matrixTable(props)} />
      </div>
      <Wide class="matrix-frame" label={`${title} between nodes`}>
        <table class={matrixClass(nodes.length)} aria-labelledby={id}>
          <thead>
            <tr>
              <td>
                <span class="corner">{corner}</span>
              </td>
              {nodes.map((node) => (
                <th key={node} scope="col" class="number">
                  {dense ? node : `node ${node}`}
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
                      style={{ "--strength": (value === null ? 0 : strength(value)).toFixed(3) }}
                    >
                      {value === null ? <span class="zero">–</span> : text(value)}
                    </td>
                  ))}
                </tr>
              ),
            )}
          </tbody>
        </table>
      </Wide>
      <MatrixLegend />
      {notes.map((note) => (
        <p class="how" key={note}>
          {note}
        </p>
      ))}
    </section>
  );
}

function matrixTable({ title, values, nodes, ends }: Props): CsvTable {
  return {
    columns: [...ends, title.replace(/\W+/g, "_").toLowerCase()],
    rows: values.flatMap((row, i) => row.map((value, j) => [nodes[i]!, nodes[j]!, value])),
  };
}
