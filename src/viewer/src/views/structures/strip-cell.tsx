// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Report } from "../../data/report";
import { threadColour } from "../../draw/colour";
import type { ColourBy, Theme } from "../../model/page-state";
import { drawGreyStrip, drawStrip } from "../../draw/maps";
import { nodeColour } from "../../draw/node-colour";
import { stripOf } from "../../model/bins";
import { wordsOf } from "../../model/counting";
import type { Matrix } from "../../model/matrix";
import { Canvas } from "../elements/canvas";
import { Term } from "../elements/term";

interface Props {
  report: Report;
  matrix: Matrix;
  colourBy: ColourBy;
  label: string;
  theme: Theme;
}

/** A structure as a strip: who uses which part of it. */
export function StripCell({ report, matrix, colourBy, label, theme }: Props) {
  const nodes = report.traffic.nodes.length;
  const groups = useMemo(
    () => (colourBy === "node" ? rowsByNode(report) : undefined),
    [report, colourBy],
  );
  const colourOf = (row: number, chroma: number) =>
    groups
      ? nodeColour(row, nodes, theme, chroma)
      : threadColour(row, report.threads.length, theme, chroma);
  return (
    <Canvas
      lazy
      role="img"
      aria-label={label}
      inputs={[matrix, groups, theme]}
      draw={(surface) => {
        const strip = stripOf(matrix, surface.width, groups);
        if (theme === "grey") drawGreyStrip(surface, strip, groups ? nodes + 1 : matrix.threads);
        else drawStrip(surface, strip, colourOf);
      }}
    />
  );
}

/** The rows of each node's threads; the last entry has threads of several or unknown nodes. */
export function rowsByNode({ threads, traffic }: Report): number[][] {
  const rows: number[][] = Array.from({ length: traffic.nodes.length + 1 }, () => []);
  threads.forEach((_, row) => rows[traffic.thread_node[row]!]?.push(row));
  return rows;
}

function verdict(unit: string): string {
  return (
    "Bands of colour are good: each thread has its own part. " +
    `Check structures with grey over a large share of the ${unit}.`
  );
}

export function StripLegend({
  report,
  colourBy,
  theme,
}: Pick<Props, "report" | "colourBy" | "theme">) {
  const { nodes } = report.traffic;
  const { all: unit } = wordsOf(report.run);
  if (theme === "grey") {
    return (
      <>
        The height of a mark shows which <Term of={colourBy} /> uses that part most; the first{" "}
        {colourBy} is at the top. Hatching means that none dominates. Darker means more {unit}.
        Steps are good: each {colourBy} has its own part. Check structures with hatching over a
        large share of the {unit}.
      </>
    );
  }
  if (colourBy === "node") {
    return (
      <>
        The colour shows the <Term of="node" /> whose threads use that part most:{" "}
        {nodes.map((node, i) => (
          <span class="node-key" key={node}>
            <span class="swatch" style={{ background: nodeColour(i, nodes.length, theme) }} />{" "}
            {node}
          </span>
        ))}
        . Grey means that none dominates. A stronger colour means more {unit}. {verdict(unit)}
      </>
    );
  }
  const stops = Array.from({ length: 9 }, (_, i) => threadColour(i, 9, theme));
  const background = `linear-gradient(90deg, ${stops.join(", ")})`;
  return (
    <>
      The colour shows the <Term of="thread" /> that uses that part most, from{" "}
      <span class="ramp" aria-hidden="true" style={{ background }} /> thread 0 to the last. Grey
      means that no thread dominates. A stronger colour means more {unit}. {verdict(unit)}
    </>
  );
}
