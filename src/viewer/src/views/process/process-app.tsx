// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { LiveProcess, Processes } from "../../data/processes";
import * as show from "../../model/format";
import { bytesOfNodes } from "../../model/live-memory";
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

/** The address names the chosen process in the field of the structure. */
export function ProcessApp({ processes }: Processes) {
  const extents = useMemo((): Extents => {
    const structures = processes.map((_, structure) => ({ structure }));
    return { structures, threads: 0, phases: 0 };
  }, [processes]);
  return (
    <PageStateProvider extents={extents}>
      <Page processes={processes} positions={extents.structures} />
    </PageStateProvider>
  );
}

interface Props {
  processes: LiveProcess[];
  positions: Extents["structures"];
}

function Page({ processes, positions }: Props) {
  const theme = useTheme();
  const change = useChangePage();
  const selected = positionOf(usePageState("structure", "instance"), positions);
  const process = processes[selected];
  return (
    <div class="process-page">
      <a class="skip" href="#live-structures">
        Skip to the structures
      </a>
      {process && <Header process={process} />}
      <main>
        {processes.length > 1 && (
          <ProcessTable
            processes={processes}
            selected={selected}
            onSelect={(structure) => change({ structure })}
            theme={theme}
          />
        )}
        {process && (
          <>
            <NodeUses process={process} theme={theme} />
            <LiveStructures key={process.pid} process={process} theme={theme} />
            <LiveThreads process={process} />
          </>
        )}
      </main>
      <Foot help={processes.length > 1 ? HELP : []} />
    </div>
  );
}

function Header({ process }: { process: LiveProcess }) {
  const { name, pid, time, notes, threads, more_threads: more } = process;
  const total = bytesOfNodes(process).reduce((sum, bytes) => sum + bytes, 0);
  const count = threads.length + more;
  return (
    <header class="run">
      <Brand />
      <h1>
        Memory of <bdi>{name}</bdi> ({pid})
      </h1>
      <p class="prose">
        {show.bytes(total)} in memory, {count} {count === 1 ? "thread" : "threads"}, at {time}. The
        process was not stopped, and none of its pages was touched.
      </p>
      {notes.map((note) => (
        <p class="how" key={note}>
          {note}
        </p>
      ))}
    </header>
  );
}
