// SPDX-License-Identifier: Apache-2.0
import { useMemo, useRef } from "preact/hooks";
import type { Report, Structure } from "../../data/report";
import type { Theme } from "../../model/page-state";
import type { Counting } from "../../model/counting";
import { counting, knowsThreads, seesAccesses } from "../../model/counting";
import * as show from "../../model/format";
import { densityScale } from "../../model/matrix";
import type { Matrix } from "../../model/matrix";
import { FigureGrid } from "./figure-grid";
import { FigureNotes } from "./figure-notes";
import { useFigureData } from "./figure-data";
import type { FigureData } from "./figure-data";
import { useFigureKeys } from "./figure-keys";
import { FigureReading } from "./figure-reading";
import { FigureToolbar } from "./figure-toolbar";
import { Legend } from "../elements/legend";
import { useNavigation } from "../page/navigation";
import { showHelp } from "../page/foot";
import { usePageState } from "../page/page-state";
import { SaveMenu } from "../page/save-menu";
import { where } from "../structures/structure-table";
import { ThreadTable } from "./thread-table";
import { cellTable } from "./figure-tables";
import { useDetail } from "./use-detail";

interface Props {
  report: Report;
  position: number;
  /** The structure's, in the chosen phases. */
  matrix: Matrix;
  theme: Theme;
}

export function StructureFigures({ report, position, matrix, theme }: Props) {
  const { measure } = usePageState("measure");
  const data = useFigureData(report, position, matrix);
  const { structure } = data;
  const root = useRef<HTMLDivElement>(null);
  const extent = { width: data.matrix.length, height: data.matrix.threads };
  const navigation = useNavigation(extent, root);
  const detail = useDetail(data, navigation.view);
  const onKeyDown = useFigureKeys(navigation, data);
  const { end: largest, clipped } = useMemo(
    () => densityScale(data.unordered, measure),
    [data.unordered, measure],
  );
  return (
    <section id="structure" class="structure" aria-labelledby="structure-name">
      <Origin report={report} structure={structure} />
      <div class="with-aside">
        <div
          class="figures"
          ref={root}
          tabIndex={0}
          role="group"
          aria-label="Figures by page and thread. Plus and minus zoom, arrows move, 0 shows everything, question mark lists all keys."
          onKeyDown={onKeyDown}
        >
          <FigureToolbar
            report={report}
            position={position}
            navigation={navigation}
            onHelp={showHelp}
          />
          <div data-figure="structure">
            <FigureHead data={data} largest={largest} clipped={clipped} theme={theme} />
            <FigureGrid
              data={detail.data}
              navigation={navigation}
              largest={largest}
              theme={theme}
            />
          </div>
          <FigureNotes data={data} detail={detail} />
        </div>
        <FigureReading
          structure={structure}
          counting={counting(report.run)}
          threads={knowsThreads(report.run)}
        />
      </div>
      {knowsThreads(report.run) && <ThreadTable data={data} />}
    </section>
  );
}

interface HeadProps {
  data: FigureData;
  /** The end of the scale of colours, and whether some cells are above it. */
  largest: number;
  clipped: boolean;
  theme: Theme;
}

function FigureHead({ data, largest, clipped, theme }: HeadProps) {
  const { measure, scale, phases } = usePageState("measure", "scale", "phases");
  const { report, structure } = data;
  const names = phases?.map((phase) => report.phases[phase]!.name).join(", ");
  return (
    <div class="figure-head">
      {seesAccesses(report.run) && (
        <Legend
          largest={largest}
          clipped={clipped}
          measure={measure}
          scale={scale}
          theme={theme}
          run={report.run}
        />
      )}
      <SaveMenu
        title={`${TITLES[counting(report.run)]} of ${structure.name}`}
        subtitle={`${report.run.program}${names ? `, phases: ${names}` : ""}`}
        table={() => cellTable(data)}
      />
    </div>
  );
}

const TITLES: Record<Counting, string> = {
  accesses: "Accesses and first touches",
  samples: "Accesses and first touches",
  "memory lines": "Memory lines and first touches",
  "first touches": "First touches",
};

function Origin({ report, structure }: { report: Report; structure: Structure }) {
  const { instance, instances, parent } = structure;
  const of = report.structures[parent]?.instances ?? instances;
  return (
    <>
      <div class="heading">
        <h2 id="structure-name" class="structure-name">
          <bdi>{structure.name}</bdi>
          {instance >= 0 && <small> instance {show.count(instance)}</small>}
        </h2>
      </div>
      <p class="origin">
        {structure.kind} · {show.bytes(structure.size)} in {show.count(structure.pages)} pages
        {instance < 0 && instances > 1 && `, ${show.count(instances)} instances summed up`}
        {instance >= 0 && `, one of ${show.count(of)} instances`}
        {where(structure) && (
          <>
            {structure.kind === "heap" ? " · allocated at " : " · "}
            <bdi>{where(structure)}</bdi>
          </>
        )}
        {structure.module && (
          <>
            {" · "}
            <bdi>{show.fileName(structure.module).slice(0, 80)}</bdi>
          </>
        )}
      </p>
      {structure.call_stack.length > 0 && (
        <details class="call-stack">
          <summary>Call stack of the allocation</summary>
          <ol>
            {structure.call_stack.map((frame, i) => (
              <li key={i}>
                <bdi>{frame}</bdi>
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}
