// SPDX-License-Identifier: Apache-2.0
import type { Experiment, Point } from "../../data/experiment";
import type { Theme } from "../../model/page-state";
import { nodeColour } from "../../draw/node-colour";
import { pointsAt, pointsCsv } from "../../model/experiment-curves";
import * as show from "../../model/format";
import { ColouredShares, MAX_WRITTEN_NODES } from "../elements/node-bar";
import { TableSection } from "../page/table-section";

interface Props {
  experiment: Experiment;
  /** Position of the size. */
  selected: number;
  theme: Theme;
}

/** The measurements of one size of the file: speed, and which node has the pages and the cache. */
export function WayTable({ experiment, selected, theme }: Props) {
  const { nodes, points, sizes } = experiment;
  const size = sizes[selected]!;
  const most = Math.max(1, ...points.map(({ cache }) => sum(cache)));
  return (
    <TableSection
      id="ways"
      title={`With a file of ${show.bytes(size)}`}
      csv={() => pointsCsv(experiment)}
      label="Measurements of this size"
      savedAs="Measurements"
      table={
        <table class="job-table">
          <thead>
            <tr>
              <th scope="col">Way</th>
              {["MFlop/s", "Range", "Local pages", "Freed"].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
              <th scope="col" class="wide">
                Pages of the triad
              </th>
              <th scope="col" class="wide">
                Page cache before it
              </th>
            </tr>
          </thead>
          <tbody>
            {pointsAt(experiment, size).map((point) => (
              <Row key={point.way} {...{ point, most, nodes, theme }} />
            ))}
          </tbody>
        </table>
      }
    >
      <p class="how">
        Freed: page cache that the kernel freed while the triad ran, in the background and within
        the allocations of the triad. The bar of the page cache is as long as its size.{" "}
        {nodes.map((node, i) => (
          <span key={node} class="kind">
            <span class="swatch" style={{ background: nodeColour(i, nodes.length, theme) }} /> node{" "}
            {node}
          </span>
        ))}
      </p>
    </TableSection>
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function freedText(background: number, program: number): string {
  if (program === 0) return show.bytes(background);
  return `${show.bytes(background)} + ${show.bytes(program)}`;
}

interface RowProps {
  point: Point;
  /** The largest page cache of all measurements. */
  most: number;
  nodes: readonly number[];
  theme: Theme;
}

function Row({ point, most, nodes, theme }: RowProps) {
  return (
    <tr>
      <th scope="row">{point.way}</th>
      <td class="number">{show.count(point.median)}</td>
      <td class="number">
        {show.count(point.low)} to {show.count(point.high)}
      </td>
      <td class="number">{show.share(point.local)}</td>
      <td class="number">{freedText(point.freed_by_kswapd, point.freed_by_program)}</td>
      <td>
        <CountsOfNodes
          counts={point.pages}
          width={1}
          nodes={nodes}
          text={show.count}
          theme={theme}
        />
      </td>
      <td>
        <CountsOfNodes
          counts={point.cache}
          width={sum(point.cache) / most}
          nodes={nodes}
          text={show.bytes}
          theme={theme}
        />
      </td>
    </tr>
  );
}

interface CountsProps {
  counts: readonly number[];
  /** The part of the cell that the bar fills, from 0 to 1. */
  width: number;
  nodes: readonly number[];
  text: (count: number) => string;
  theme: Theme;
}

function CountsOfNodes({ counts, width, nodes, text, theme }: CountsProps) {
  const all = Math.max(1, sum(counts));
  const told = counts.flatMap((count, i) =>
    count > 0 ? [`node ${nodes[i]}: ${text(count)}`] : [],
  );
  const more = told.length > MAX_WRITTEN_NODES ? " …" : "";
  const parts = counts.map((count, node) => ({ node, share: (width * count) / all }));
  return (
    <>
      <ColouredShares parts={parts} nodes={nodes.length} title={told.join(", ")} theme={theme} />
      <span class="origin">{told.slice(0, MAX_WRITTEN_NODES).join(", ") + more || "none"}</span>
    </>
  );
}
