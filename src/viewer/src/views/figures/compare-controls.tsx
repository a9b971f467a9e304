// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import type { Thread } from "../../data/report";
import { rowsOf, threadNumbers } from "./compared";
import { useChangePage, usePageState } from "../page/page-state";

/** Names two groups of threads, whose difference is then drawn. */
export function CompareControls({ threads }: { threads: Thread[] }) {
  const { groupA, groupB } = usePageState("groupA", "groupB");
  const change = useChangePage();
  const some = groupA.length > 0 || groupB.length > 0;
  return (
    <div class="compare" role="group" aria-label="Compare two threads or groups of threads">
      <span>Compare threads</span>
      <GroupField
        name="A"
        rows={groupA}
        threads={threads}
        onRows={(rows) => change({ groupA: rows })}
      />
      <span>with</span>
      <GroupField
        name="B"
        rows={groupB}
        threads={threads}
        onRows={(rows) => change({ groupB: rows })}
      />
      {some && (
        <button type="button" class="quiet" onClick={() => change({ groupA: [], groupB: [] })}>
          clear
        </button>
      )}
    </div>
  );
}

interface FieldProps {
  name: "A" | "B";
  rows: readonly number[];
  threads: Thread[];
  onRows: (rows: number[]) => void;
}

function GroupField({ name, rows, threads, onRows }: FieldProps) {
  const chosen = threadNumbers(rows, threads);
  const [text, setText] = useState(chosen);
  useEffect(() => setText(chosen), [chosen]);
  const take = () => {
    const found = rowsOf(text, threads);
    onRows(found);
    setText(threadNumbers(found, threads));
  };
  return (
    <label>
      <b class={`group-letter ${name.toLowerCase()}`}>{name}</b>
      <input
        type="text"
        size={9}
        maxLength={2000}
        aria-label={`Threads of group ${name}, such as 0-3, 8`}
        placeholder={name === "A" ? "0-3, 8" : "4-7"}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onChange={take}
        onKeyDown={(event) => {
          // The keys of the figures are also letters and digits.
          event.stopPropagation();
          if (event.key === "Enter") take();
        }}
      />
    </label>
  );
}
