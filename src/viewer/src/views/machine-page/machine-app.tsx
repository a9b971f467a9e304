// SPDX-License-Identifier: Apache-2.0
import type { MachineContent, ShownNode, ShownPackage } from "../../data/machine-page";
import * as show from "../../model/format";
import type { Extents } from "../../model/page-state";
import { Brand } from "../overview/run-header";
import { Foot } from "../page/foot";
import { PageStateProvider } from "../page/page-state";
import { useTheme } from "../page/theme";
import { KnownMatrix } from "./known-matrix";

const NOTHING: Extents = { structures: [], threads: 0, phases: 0 };

export function MachineApp({ machine }: { machine: MachineContent }) {
  return (
    <PageStateProvider extents={NOTHING}>
      <Page machine={machine} />
    </PageStateProvider>
  );
}

/** The machine's packages and nodes, and what is known between its nodes. */
function Page({ machine }: { machine: MachineContent }) {
  useTheme();
  const sources = machine.topology ? [`Topology: ${machine.topology}`] : [];
  return (
    <div class="machine-page">
      <header class="run">
        <Brand />
        <h1>
          <bdi>{machine.name}</bdi>
        </h1>
      </header>
      <main>
        <section aria-labelledby="packages">
          <h2 id="packages">Packages and nodes</h2>
          <div class="packages">
            {machine.packages.map((one) => (
              <Package key={one.title} of={one} />
            ))}
          </div>
          {[...sources, ...machine.notes].map((sentence) => (
            <p class="how" key={sentence}>
              {sentence}
            </p>
          ))}
        </section>
        {machine.matrices.map((matrix) => (
          <KnownMatrix key={matrix.title} matrix={matrix} nodes={machine.nodes} />
        ))}
        {machine.matrices.length === 0 && machine.nodes.length > 1 && (
          <p class="how">NUMA factors between the nodes are unknown.</p>
        )}
      </main>
      <Foot />
    </div>
  );
}

function Package({ of: { title, nodes } }: { of: ShownPackage }) {
  return (
    <section class="package" aria-label={title}>
      <h3>{title}</h3>
      {nodes.map((node) => (
        <Node key={node.node} of={node} />
      ))}
    </section>
  );
}

function Node({ of: { node, memory, cpus, allowed, caches } }: { of: ShownNode }) {
  return (
    <div class="machine-node">
      <p>
        <b>Node {node}</b> {memory}
      </p>
      <p>
        {cpus ? `CPUs ${show.breakable(cpus)}` : "no CPUs"}
        {allowed && ` (allowed: ${show.breakable(allowed)})`}
      </p>
      {caches && <p class="origin">{caches}</p>}
    </div>
  );
}
