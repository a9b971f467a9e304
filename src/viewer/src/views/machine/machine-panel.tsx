// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import { meanFactor } from "../../model/node-distance";
import { trafficTable } from "../../model/overview-tables";
import { readTraffic, trafficOf } from "../../model/traffic";
import type { NodeTraffic } from "../../model/traffic";
import { ReadingAid } from "../elements/reading-aid";
import { SaveMenu } from "../page/save-menu";
import { SplitBar, SplitLegend } from "../structures/split-bar";
import { Term } from "../elements/term";
import { ThreadTraffic } from "./thread-traffic";
import { TopologyFigure } from "./topology";
import { TrafficMatrix } from "./traffic-matrix";

interface Props {
  report: Report;
  phases: readonly number[];
  theme: Theme;
}

/** The machine, the nodes on which its threads ran, and the traffic between nodes. */
export function MachinePanel({ report, phases, theme }: Props) {
  const traffic = useMemo(() => trafficOf(report, phases), [report, phases]);
  const several = traffic.nodes.length > 1;
  const { columns } = wordsOf(report.run);
  return (
    <section class="panel machine" aria-labelledby="machine" data-figure>
      <div class="heading">
        <h2 id="machine">Machine and traffic</h2>
        <SaveMenu
          title="Machine and traffic"
          table={() => trafficTable(traffic, report.machine, columns.all)}
        />
      </div>
      {several ? (
        <Traffic report={report} traffic={traffic} theme={theme} phases={phases} />
      ) : (
        <OneNode report={report} traffic={traffic} theme={theme} />
      )}
    </section>
  );
}

function OneNode({
  report,
  traffic,
  theme,
}: {
  report: Report;
  traffic: NodeTraffic;
  theme: Theme;
}) {
  return (
    <>
      <p class="statement">
        This machine has one memory <Term of="node" />, so all memory is local.
      </p>
      <TopologyFigure report={report} traffic={traffic} theme={theme} />
      <p class="how not-saved">
        Every dot is a <Term of="thread" />. On a machine with several nodes, the same threads use
        the same pages, and the same threads touch them first. There, this decides which accesses
        are local.
      </p>
    </>
  );
}

function Traffic({ report, traffic, theme, phases }: Props & { traffic: NodeTraffic }) {
  const { all } = wordsOf(report.run);
  const reading = readTraffic(traffic, show.share, all);
  const { machine } = report;
  const mean = meanFactor(machine, traffic);
  return (
    <>
      {report.run.laid_out && <p class="prose">{report.run.laid_out}</p>}
      <SplitBar split={traffic.split} label={`All ${all}`} />
      <SplitLegend split={traffic.split} />
      <p class="statement">{reading.see}</p>
      <div class="machine-figures">
        <TopologyFigure report={report} traffic={traffic} theme={theme} />
        <TrafficMatrix machine={machine} traffic={traffic} unit={all} />
      </div>
      {machine.distance && (
        <p class="how distance-source">
          × is the <Term of="NUMA factor" />
          {mean !== undefined && `, ${mean.toFixed(2)} on average of these ${all}`} (
          {machine.distance.sources.join("; ")}).
        </p>
      )}
      <ThreadTraffic report={report} phases={phases} />
      <ReadingAid
        read={
          <p>
            Each box is a <Term of="node" />: its threads (dots) are above, its memory is below.
            Bands go from threads to the memory that they access. The width of a band shows the
            number of {all}. Vertical bands are local, others are{" "}
            <Term of="remote access">remote</Term>. In the table, rows are the nodes of threads, and
            columns are the nodes of pages.
          </p>
        }
        seen
        act={reading.advice.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
      />
    </>
  );
}
