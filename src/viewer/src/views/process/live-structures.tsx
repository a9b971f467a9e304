// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import type { LiveMemory, LiveStructure } from "../../data/processes";
import type { Theme } from "../../model/page-state";
import * as show from "../../model/format";
import {
  found,
  knownNodes,
  liveStructureTable,
  nodeShares,
  residentBytes,
  usersText,
} from "../../model/live-memory";
import { NodeBar } from "../elements/node-bar";
import { SaveMenu } from "../page/save-menu";
import { Wide } from "../elements/wide";
import { PositionLegend, PositionStrip } from "./position-strip";

interface Props {
  memory: LiveMemory;
  /** The process; absent: several together. */
  pid?: number | undefined;
  theme: Theme;
}

/** Rows that are shown before more are asked for. */
const STEP = 50;

/** The nodes of the structures, the largest structure first. */
export function LiveStructures({ memory, pid, theme }: Props) {
  const [search, setSearch] = useState("");
  const [most, setMost] = useState(STEP);
  const listed = found(memory, search);
  const left = listed.length - most;
  return (
    <section aria-labelledby="live-structures">
      <div class="heading">
        <h2 id="live-structures">Structures</h2>
        <div class="controls">
          <input
            type="search"
            placeholder="Search name, kind, file"
            aria-label="Search structures"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
          <SaveMenu
            title="Structures"
            table={() => liveStructureTable(memory, pid)}
            picture={false}
          />
        </div>
      </div>
      <Wide label="Structures">
        <table class="job-table" aria-labelledby="live-structures">
          <Head together={pid === undefined} />
          <tbody>
            {listed.slice(0, most).map((i) => (
              <Row key={i} structure={memory.structures[i]!} memory={memory} theme={theme} />
            ))}
          </tbody>
        </table>
      </Wide>
      {left > 0 && (
        <button type="button" class="link" onClick={() => setMost(most + 10 * STEP)}>
          Show more ({left} left)
        </button>
      )}
      {listed.length === 0 && <p class="how">No structure has this text.</p>}
      {memory.more_structures > 0 && (
        <p class="how">{memory.more_structures} smaller structures are not in this page.</p>
      )}
      {pid === undefined && (
        <p class="how">
          Structures of the same name are one row. Shared: the processes map the same memory, and
          each page is counted once. The strips of others have the processes one after the other.
        </p>
      )}
      <PositionLegend memory={memory} theme={theme} />
    </section>
  );
}

function Head({ together }: { together: boolean }) {
  return (
    <thead>
      <tr>
        <th scope="col">Structure</th>
        {together && <th scope="col">Processes</th>}
        <th scope="col" class="number">
          In memory
        </th>
        <th scope="col" class="number">
          In huge pages
        </th>
        <th scope="col" class="wide">
          By node
        </th>
        <th scope="col">By position</th>
        <th scope="col">Policy</th>
      </tr>
    </thead>
  );
}

interface RowProps {
  structure: LiveStructure;
  memory: LiveMemory;
  theme: Theme;
}

function Row({ structure, memory, theme }: RowProps) {
  const { name, kind, source, swapped, huge, policy, users } = structure;
  return (
    <tr>
      <th scope="row">
        <bdi class="name">{name}</bdi>{" "}
        <span class="origin">
          {kind}
          {source && ` · ${show.fileName(source)}`}
          {swapped > 0 && ` · ${show.bytes(swapped)} in swap`}
        </span>
      </th>
      {users && <td class="users">{usersText(users)}</td>}
      <td class="number">{show.bytes(residentBytes(structure))}</td>
      <td class="number">{huge > 0 ? show.bytes(huge) : "–"}</td>
      <td>
        <NodeBar
          parts={nodeShares(memory, structure.nodes)}
          nodes={knownNodes(memory)}
          theme={theme}
        />
      </td>
      <td class="strip">
        <PositionStrip structure={structure} memory={memory} theme={theme} />
      </td>
      <td>
        <bdi>{policy}</bdi>
      </td>
    </tr>
  );
}
