// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "preact";

interface Order<K extends string> {
  key: K;
  descending: boolean;
}

interface Props<K extends string> {
  /** The column of this heading. */
  of: K;
  title: string;
  /** The present order; null: none that a heading chose. */
  order: Order<K> | null;
  /** Whether the first click puts the largest first. */
  largestFirst: boolean;
  onOrder: (order: Order<K>) => void;
  /** Further attributes of the cell. */
  cell?: JSX.IntrinsicElements["th"];
}

/** The heading of a column by which a table can be sorted. */
export function SortHeading<K extends string>(props: Props<K>) {
  const { of, title, order, largestFirst, onOrder, cell } = props;
  const sorted = order?.key === of ? order : undefined;
  const descending = sorted ? !sorted.descending : largestFirst;
  return (
    <th
      scope="col"
      {...cell}
      aria-sort={!sorted ? "none" : sorted.descending ? "descending" : "ascending"}
    >
      <button type="button" onClick={() => onOrder({ key: of, descending })}>
        {title}
        <span class="arrow" aria-hidden="true">
          {!sorted ? "" : sorted.descending ? "↓" : "↑"}
        </span>
      </button>
    </th>
  );
}
