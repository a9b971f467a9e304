// SPDX-License-Identifier: Apache-2.0
import type { Balance } from "../../data/balance";
import * as show from "../../model/format";
import { bestOf, columnsOf, resultsCsv, rowsInOrder } from "../../model/mappings";
import { useChangePage, usePageState } from "../page/page-state";
import { selectByKey } from "../elements/row-keys";
import { SortHeading } from "../elements/sort-heading";
import { SaveMenu } from "../page/save-menu";
import { Wide } from "../elements/wide";

interface Props {
  balance: Balance;
  selected: number;
  onSelect: (mapping: number) => void;
}

/** The metrics of each mapping; the chosen one is shown below. */
export function ResultTable({ balance, selected, onSelect }: Props) {
  const { results } = usePageState("results");
  const rows = rowsInOrder(balance.results, results);
  return (
    <section aria-labelledby="mappings">
      <div class="heading">
        <h2 id="mappings">Mappings</h2>
        <SaveMenu title="Mappings" table={() => resultsCsv(balance)} picture={false} />
      </div>
      <Wide>
        <table
          class="structures mappings"
          aria-labelledby="mappings"
          onKeyDown={(event) => selectByKey(event, rows, selected, onSelect)}
        >
          <Head balance={balance} />
          <tbody>
            {rows.map((position) => (
              <Row
                key={position}
                balance={balance}
                position={position}
                chosen={position === selected}
                onSelect={onSelect}
              />
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="how">
        {balance.results.length > 2 && "Bold: the best (smallest) value of the algorithms. "}
        Imbalance: the time of the slowest core, divided by the time with perfect balance.
        Communication: the cost of all messages times the NUMA factor. Relabelled: migrations after
        cores are renumbered; loads and communication stay the same.
        {balance.levels.length > 0 &&
          " Last columns: the share of the messages within a core, a cache, a node, and so on."}
      </p>
    </section>
  );
}

function Head({ balance }: { balance: Balance }) {
  const { results } = usePageState("results");
  const change = useChangePage();
  return (
    <thead>
      <tr>
        <th scope="col">Mapping</th>
        {columnsOf(balance).map(({ key, title }) => (
          <SortHeading
            key={key}
            of={key}
            title={title}
            order={results}
            largestFirst={false}
            onOrder={(order) => change({ results: order })}
            cell={{ class: "number" }}
          />
        ))}
        {balance.levels.map((name) => (
          <th key={name} scope="col" class="number">
            {name.replace("%", "").trim()}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface RowProps {
  balance: Balance;
  position: number;
  chosen: boolean;
  onSelect: (mapping: number) => void;
}

function Row({ balance, position, chosen, onSelect }: RowProps) {
  const result = balance.results[position]!;
  return (
    <tr aria-selected={chosen} data-position={position} onClick={() => onSelect(position)}>
      <th scope="row">
        <button type="button" class="name" title={result.label} aria-pressed={chosen}>
          <bdi>{result.label}</bdi>
        </button>
        {position === 0 && <span class="origin">the present mapping</span>}
      </th>
      {columnsOf(balance).map(({ key, text }) => {
        const value = result[key];
        if (position === 0 && key === "milliseconds") return <td key={key} />;
        const best = position > 0 && value === bestOf(balance.results, key);
        return (
          <td key={key} class="number">
            {best ? <b title="the best">{text(value)}</b> : text(value)}
          </td>
        );
      })}
      {result.levels.map((share, i) => (
        <td key={i} class="number">
          {show.share(share)}
        </td>
      ))}
    </tr>
  );
}
