// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Balance } from "../../data/balance";
import * as show from "../../model/format";
import { changeText } from "../../model/mappings";
import type { Extents } from "../../model/page-state";
import { positionOf } from "../../model/page-state";
import { Brand } from "../overview/run-header";
import { Foot } from "../page/foot";
import { PageStateProvider, useChangePage, usePageState } from "../page/page-state";
import { useTheme } from "../page/theme";
import { CoreLoads } from "./core-loads";
import { CoreTimelinePanel } from "./core-timeline-panel";
import { NodeExchange } from "./node-exchange";
import { ResultTable } from "./result-table";

const HELP = [
  {
    keys: true,
    entries: [
      ["↑  ↓", "in the table: the mapping above or below; in the iterations: the next cores"],
      ["←  →", "in the loads: the next core; in the iterations: earlier or later"],
      ["Home  End", "the first or last core, the beginning or end of the iterations"],
    ],
  },
] as const;

/** The address names the chosen mapping in the field of the structure. */
export function BalanceApp({ balance }: { balance: Balance }) {
  const extents = useMemo((): Extents => {
    const structures = balance.results.map((_, structure) => ({ structure }));
    return { structures, threads: 0, phases: 0, first: Math.min(1, structures.length - 1) };
  }, [balance]);
  return (
    <PageStateProvider extents={extents}>
      <Page balance={balance} mappings={extents.structures} />
    </PageStateProvider>
  );
}

interface Props {
  balance: Balance;
  mappings: Extents["structures"];
}

function Page({ balance, mappings }: Props) {
  const theme = useTheme();
  const change = useChangePage();
  const selected = positionOf(usePageState("structure", "instance"), mappings);
  const shown = { balance, selected };
  return (
    <div class="balance">
      <a class="skip" href="#core-loads">
        Skip to the chosen mapping
      </a>
      <Header balance={balance} />
      <main>
        <ResultTable {...shown} onSelect={(structure) => change({ structure })} />
        <CoreLoads {...shown} theme={theme} />
        <NodeExchange {...shown} />
        <CoreTimelinePanel {...shown} theme={theme} />
      </main>
      <Foot help={HELP} />
    </div>
  );
}

function Header({ balance }: { balance: Balance }) {
  const { file, target, tasks, are_threads: areThreads, messages, cores } = balance;
  const counted = (count: number, what: string) => `${show.count(count)} ${what}`;
  return (
    <header class="run">
      <Brand />
      <h1>
        <bdi>{file}</bdi>, mapped to <bdi>{target}</bdi>
      </h1>
      {balance.results.length > 1 && <p class="conclusion">{changeText(balance, 1)}</p>}
      <p class="prose">
        {counted(tasks, areThreads ? "threads of a recorded run" : "tasks")},{" "}
        {counted(messages, areThreads ? "pairs that share pages" : "messages")},{" "}
        {counted(cores, "cores")} on {counted(balance.node_count, "nodes")}.
      </p>
    </header>
  );
}
