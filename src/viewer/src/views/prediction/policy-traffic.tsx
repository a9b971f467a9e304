// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Policy } from "../../data/prediction";
import type { Machine } from "../../data/report";
import * as show from "../../model/format";
import { bytesTable, trafficOfPolicy } from "../../model/policies";
import { MatrixLegend } from "../machine/matrix-legend";
import { TrafficMatrix } from "../machine/traffic-matrix";
import { SaveMenu } from "../page/save-menu";

interface Props {
  machine: Machine;
  policy: Policy;
  reference: Policy;
}

/** The bytes between the nodes under the chosen policy, beside those of the first one. */
export function PolicyTraffic({ machine, policy, reference }: Props) {
  const shown = policy === reference ? [policy] : [reference, policy];
  return (
    <section id="policy" class="panel machine" aria-labelledby="traffic-title" data-figure>
      <div class="heading">
        <h2 id="traffic-title">
          Traffic between nodes: <bdi>{policy.label}</bdi>
        </h2>
        <SaveMenu title={`Traffic: ${policy.label}`} table={() => bytesTable(shown)} />
      </div>
      <div class="policy-traffic">
        {shown.map((one) => (
          <Matrix key={one.label} machine={machine} policy={one} />
        ))}
      </div>
      <MatrixLegend />
      <p class="how">
        Bytes from and to memory, in percent of all. Rows are the nodes of the threads, columns the
        nodes of the memory.
        {machine.distance && " × is the NUMA factor."}
      </p>
    </section>
  );
}

function Matrix({ machine, policy }: { machine: Machine; policy: Policy }) {
  const traffic = useMemo(() => trafficOfPolicy(policy), [policy]);
  const bytes = policy.traffic.reduce((sum, count) => sum + count, 0);
  return (
    <div>
      <h3>
        <bdi>{policy.label}</bdi>: {show.bytes(bytes)}
      </h3>
      <TrafficMatrix
        machine={machine}
        traffic={traffic}
        unit="bytes"
        label={`Traffic between nodes, ${policy.label}`}
      />
    </div>
  );
}
