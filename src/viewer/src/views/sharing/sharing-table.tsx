// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import * as show from "../../model/format";
import type { SharingMatrix } from "../../model/sharing";
import { strongestPairs } from "../../model/sharing";
import { Wide } from "../elements/wide";

interface Props {
  matrix: SharingMatrix;
  name: (row: number) => string;
  /** What is counted, in the plural. */
  unit: string;
}

const MAX_PAIRS = 200;

/** The map's pairs as numbers, the strongest first. */
export function SharingTable(props: Props) {
  const [open, setOpen] = useState(false);
  return (
    <details
      class="sharing-table not-saved"
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>The same as a table, by pairs</summary>
      {open && <Table {...props} />}
    </details>
  );
}

function Table({ matrix, name, unit }: Props) {
  const pairs = useMemo(() => strongestPairs(matrix, MAX_PAIRS), [matrix]);
  return (
    <Wide label="Pairs of threads that share most">
      <table>
        <thead>
          <tr>
            <th scope="col">Threads</th>
            <th scope="col">and</th>
            <th scope="col" class="number">
              On shared pages, {unit}
            </th>
          </tr>
        </thead>
        <tbody>
          {pairs.map(({ a, b, shared }) => (
            <tr key={`${a} ${b}`}>
              <th scope="row">{name(a)}</th>
              <td>{name(b)}</td>
              <td class="number">{show.count(shared)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
