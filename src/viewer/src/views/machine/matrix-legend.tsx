// SPDX-License-Identifier: Apache-2.0

/** Names the colours of a table with a row and a column for each node. */
export function MatrixLegend() {
  return (
    <ul class="split-legend matrix-legend">
      <li>
        <span class="swatch local" />
        within a node
      </li>
      <li>
        <span class="swatch remote" />
        between nodes
      </li>
      <li>A stronger colour is a larger number.</li>
    </ul>
  );
}
