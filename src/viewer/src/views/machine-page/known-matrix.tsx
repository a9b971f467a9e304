// SPDX-License-Identifier: Apache-2.0
import type { ShownMatrix } from "../../data/machine-page";
import { NodeMatrix } from "../machine/node-matrix";

/** The known values between nodes of CPUs and nodes of memory, with their sources. */
export function KnownMatrix({ matrix, nodes }: { matrix: ShownMatrix; nodes: number[] }) {
  const { title, unit, digits, values, sources } = matrix;
  const known = values.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return (
    <NodeMatrix
      title={title}
      unit={unit}
      values={values}
      text={(value) => value.toFixed(digits)}
      strength={(value) => (high > low ? 0.15 + (0.85 * (value - low)) / (high - low) : 0.5)}
      nodes={nodes}
      corner="from ↓ to memory of →"
      ends={["cpu_node", "memory_node"]}
      notes={sources}
    />
  );
}
