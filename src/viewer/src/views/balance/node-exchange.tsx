// SPDX-License-Identifier: Apache-2.0
import type { Balance } from "../../data/balance";
import * as show from "../../model/format";
import { NodeMatrix } from "../machine/node-matrix";

interface Props {
  balance: Balance;
  selected: number;
}

/** The traffic between nodes under the present and the chosen mapping, and the migrations. */
export function NodeExchange({ balance, selected }: Props) {
  const { results, unit, groups, are_threads: areThreads } = balance;
  if (groups.length < 2) return null;
  const [now, then] = [results[0]!, results[selected]!];
  const traffic = selected === 0 ? [now] : [now, then];
  const most = largestBetween(traffic.map((one) => one.traffic));
  const text = unit === "bytes" ? show.bytes : show.short;
  const moving = areThreads ? "Threads that migrate" : "Tasks that migrate";
  const several = groups.some((name) => name.includes("-"));
  const notes = several ? ["A row or column is several neighbouring nodes."] : [];
  return (
    <div class="node-exchange">
      {traffic.map((one) => (
        <NodeMatrix
          key={one.label}
          title={`Traffic, ${one.label}`}
          unit={areThreads ? unit : `${unit} per iteration`}
          values={one.traffic}
          text={(value) => (value === 0 ? "–" : text(value))}
          strength={(value) => Math.sqrt(Math.min(1, value / most))}
          nodes={groups}
          corner="from ↓ to →"
          ends={["from_node", "to_node"]}
          notes={notes}
        />
      ))}
      {selected > 0 && (
        <NodeMatrix
          title={moving}
          unit={`${show.count(then.migrations)} in all`}
          values={then.moves}
          text={(value) => (value === 0 ? "–" : show.count(value))}
          strength={(value) => Math.sqrt(value / Math.max(1, ...then.moves.flat()))}
          nodes={groups}
          corner="from ↓ to →"
          ends={["from_node", "to_node"]}
          notes={notes}
        />
      )}
    </div>
  );
}

/** The largest traffic between nodes. The traffic within nodes, often much more, is left out. */
function largestBetween(matrices: readonly number[][][]): number {
  const between = matrices.flatMap((rows) =>
    rows.flatMap((row, i) => row.filter((_, j) => i !== j)),
  );
  return Math.max(...between) || 1;
}
