// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { LiveMemory, Processes } from "../../data/processes";
import * as show from "../../model/format";
import { bytesOfNodes, threadsOf, TOGETHER } from "../../model/live-memory";
import type { Extents } from "../../model/page-state";
import { positionOf } from "../../model/page-state";
import { Brand } from "../overview/run-header";
import { Foot } from "../page/foot";
import { PageStateProvider, useChangePage, usePageState } from "../page/page-state";
import { useTheme } from "../page/theme";
import { LiveStructures } from "./live-structures";
import { LiveThreads } from "./live-threads";
import { NodeUses } from "./node-uses";
import { ProcessTable } from "./process-table";

const HELP = [
  { keys: true, entries: [["↑  ↓", "in the table: the process above or below"]] },
] as const;

/**
 * The address names the chosen process in the field of the structure. The position after the last
 * process stands for all of them together, which are shown first.
 */
export function ProcessApp({ processes, together }: Processes) {
  const extents = useMemo((): Extents => {
    const count = processes.length + (together ? 1 : 0);
    const structures = Array.from({ length: count }, (_, structure) => ({ structure }));
    return { structures, first: count - 1, threads: 0, phases: 0 };
  }, [processes, together]);
  return (
    <PageStateProvider extents={extents}>
      <Page processes={processes} together={together} positions={extents.structures} />
    </PageStateProvider>
  );
}

interface Props extends Processes {
  positions: Extents["structures"];
}

function Page({ processes, together, positions }: Props) {
  const theme = useTheme();
  const change = useChangePage();
  const selected = positionOf(usePageState("structure", "instance"), positions);
  const process = processes[selected];
  const memory = process ?? together;
  if (!memory) return null;
  return (
    <div class="process-page">
      <a class="skip" href="#live-structures">
        Skip to the structures
      </a>
      {process ? (
        <Header memory={process} count={1}>
          Memory of <bdi>{process.name}</bdi> ({process.pid})
        </Header>
      ) : (
        <Header memory={memory} count={processes.length}>
          Memory of {processes.length} processes
        </Header>
      )}
      <main>
        {together && (
          <ProcessTable
            processes={processes}
            together={together}
            selected={selected}
            onSelect={(structure) => change({ structure })}
            theme={theme}
          />
        )}
        <NodeUses
          memory={memory}
          pid={process?.pid ?? null}
          name={process?.name ?? TOGETHER}
          theme={theme}
        />
        <LiveStructures key={selected} memory={memory} pid={process?.pid} theme={theme} />
        {process && <LiveThreads process={process} />}
      </main>
      <Foot help={together ? HELP : []} />
    </div>
  );
}

interface HeaderProps {
  memory: LiveMemory;
  /** The number of processes. */
  count: number;
  /** The title. */
  children: ComponentChildren;
}

function Header({ memory, count, children }: HeaderProps) {
  const total = bytesOfNodes(memory).reduce((sum, bytes) => sum + bytes, 0);
  const threads = threadsOf(memory);
  return (
    <header class="run">
      <Brand />
      <h1>{children}</h1>
      <p class="prose">
        {show.bytes(total)} in memory, {threads} {threads === 1 ? "thread" : "threads"}, at{" "}
        {memory.time}.{" "}
        {count === 1
          ? "The process was not stopped, and none of its pages was touched."
          : "Shared memory is counted once. The processes were not stopped, and none of their pages was touched."}
      </p>
      {memory.notes.map((note) => (
        <p class="how" key={note}>
          {note}
        </p>
      ))}
    </header>
  );
}
