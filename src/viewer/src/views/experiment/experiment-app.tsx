// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Experiment } from "../../data/experiment";
import type { Extents, Theme } from "../../model/page-state";
import { nodeColour } from "../../draw/node-colour";
import { sizeCurves, pointsCsv } from "../../model/experiment-curves";
import type { Measured } from "../../model/experiment-curves";
import * as show from "../../model/format";
import { positionOf } from "../../model/page-state";
import { Brand } from "../overview/run-header";
import { Foot } from "../page/foot";
import { PageStateProvider, useChangePage, usePageState } from "../page/page-state";
import { SaveMenu } from "../page/save-menu";
import { useTheme } from "../page/theme";
import { CurvePlot, dashesOf } from "./curve-plot";
import { WayTable } from "./way-table";

const HELP = [
  {
    keys: true,
    entries: [
      ["←  →", "in the curves: the next size of the file"],
      ["Home  End", "in the curves: the smallest, the largest size"],
    ],
  },
] as const;

/** The address names the chosen size of the file in the field of the structure. */
export function ExperimentApp({ experiment }: { experiment: Experiment }) {
  const extents = useMemo((): Extents => {
    const structures = experiment.sizes.map((_, structure) => ({ structure }));
    return { structures, threads: 0, phases: 0, first: worst(experiment) };
  }, [experiment]);
  return (
    <PageStateProvider extents={extents}>
      <Page experiment={experiment} sizes={extents.structures} />
    </PageStateProvider>
  );
}

/** The size with the smallest share of local pages. */
function worst({ points, sizes }: Experiment): number {
  const least = points.reduce((found, point) => (point.local < found.local ? point : found));
  return sizes.indexOf(least.size);
}

interface Props {
  experiment: Experiment;
  sizes: Extents["structures"];
}

function Page({ experiment, sizes }: Props) {
  const theme = useTheme();
  const change = useChangePage();
  const selected = positionOf(usePageState("structure", "instance"), sizes);
  const shown = { experiment, selected, theme };
  const onSelect = (structure: number) => change({ structure });
  return (
    <div class="experiment">
      <Header experiment={experiment} />
      <main>
        <Curves {...shown} measured="local" title="Local pages" onSelect={onSelect} />
        <Curves {...shown} measured="speed" title="Speed" onSelect={onSelect} />
        <WayTable {...shown} />
      </main>
      <Foot help={HELP} />
    </div>
  );
}

function Header({ experiment }: { experiment: Experiment }) {
  const { conclusion, notes, workers, processes, triad_bytes: bytes, nodes } = experiment;
  const who = `${processes ? "process" : "thread"}${workers > 1 ? (processes ? "es" : "s") : ""}`;
  return (
    <header class="run">
      <Brand />
      <h1>Page cache and placement</h1>
      {conclusion && <p class="conclusion">{conclusion}</p>}
      <p class="prose">
        A file is read on node {nodes[0]} and stays in the page cache. Then a vector triad of{" "}
        {show.bytes(bytes)} runs on {show.count(workers)} {who}.
      </p>
      {notes.length > 0 && (
        <ul class="cautions prose" aria-label="Notes">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </header>
  );
}

interface CurvesProps {
  experiment: Experiment;
  selected: number;
  theme: Theme;
  measured: Measured;
  title: string;
  onSelect: (size: number) => void;
}

const UNITS: Record<Measured, string> = {
  speed: "MFlop/s: median and range",
  local: "share of the pages that are on the node of their worker",
};

function Curves({ experiment, selected, theme, measured, title, onSelect }: CurvesProps) {
  const curves = useMemo(() => sizeCurves(experiment, measured), [experiment, measured]);
  const highest = Math.max(0, ...curves.flatMap(({ points }) => points.map(({ high }) => high)));
  const id = `curves-${measured}`;
  return (
    <section class="panel" aria-labelledby={id} data-figure>
      <div class="heading">
        <h2 id={id}>
          {title} <small>{UNITS[measured]}</small>
        </h2>
        <SaveMenu title={title} table={() => pointsCsv(experiment)} />
      </div>
      <CurvePlot
        curves={curves}
        sizes={experiment.sizes}
        top={measured === "local" ? 1 : 1.05 * highest || 1}
        text={measured === "local" ? show.percent : show.short}
        label={`${title} by the size of the file`}
        selected={selected}
        onSelect={onSelect}
        theme={theme}
      />
      <p class="how way-legend">
        {curves.map(({ way, name }) => (
          <span key={name}>
            <svg width={34} height={10} viewBox="0 0 34 10" aria-hidden="true">
              <line
                x1={0}
                x2={34}
                y1={5}
                y2={5}
                stroke={nodeColour(way, curves.length, theme)}
                stroke-width={2.5}
                stroke-dasharray={dashesOf(way)}
              />
            </svg>{" "}
            {name}
          </span>
        ))}
        <span>horizontal: the size of the file</span>
      </p>
    </section>
  );
}
