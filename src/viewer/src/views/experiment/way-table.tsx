// SPDX-License-Identifier: Apache-2.0
import type { Experiment } from "../../data/experiment";
import type { Theme } from "../../model/page-state";
import { nodeColour } from "../../draw/node-colour";
import { pointsAt, pointsCsv } from "../../model/experiment-curves";
import * as show from "../../model/format";
import { SaveMenu } from "../page/save-menu";

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
    <section aria-labelledby="ways">
      <div class="heading">
        <h2 id="ways">With a file of {show.bytes(size)}</h2>
        <SaveMenu title="Measurements" table={() => pointsCsv(experiment)} picture={false} />
      </div>
      <div class="scroll" tabIndex={0} role="group" aria-label="Measurements of this size">
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
              <tr key={point.way}>
                <th scope="row">{point.way}</th>
                <td class="number">{show.count(point.median)}</td>
                <td class="number">
                  {show.count(point.low)} to {show.count(point.high)}
                </td>
                <td class="number">{show.share(point.local)}</td>
                <td class="number">{freedText(point.freed_by_kswapd, point.freed_by_program)}</td>
                <td>
                  <NodeBar
                    counts={point.pages}
                    width={1}
                    nodes={nodes}
                    text={show.count}
                    theme={theme}
                  />
                </td>
                <td>
                  <NodeBar
                    counts={point.cache}
                    width={sum(point.cache) / most}
                    nodes={nodes}
                    text={show.bytes}
                    theme={theme}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
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
    </section>
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function freedText(background: number, program: number): string {
  if (program === 0) return show.bytes(background);
  return `${show.bytes(background)} + ${show.bytes(program)}`;
}

interface BarProps {
  counts: readonly number[];
  /** Of the cell, from 0 to 1. */
  width: number;
  nodes: readonly number[];
  text: (count: number) => string;
  theme: Theme;
}

/** Most nodes whose numbers are also written. */
const WRITTEN = 4;

function NodeBar({ counts, width, nodes, text, theme }: BarProps) {
  const all = Math.max(1, sum(counts));
  const told = counts.flatMap((count, i) =>
    count > 0 ? [`node ${nodes[i]}: ${text(count)}`] : [],
  );
  const more = told.length > WRITTEN ? " …" : "";
  return (
    <>
      <span class="node-bar" title={told.join(", ")} aria-hidden="true">
        {counts.map((count, i) => (
          <span
            key={i}
            style={{
              width: `${(100 * width * count) / all}%`,
              background: nodeColour(i, nodes.length, theme),
            }}
          />
        ))}
      </span>
      <span class="origin">{told.slice(0, WRITTEN).join(", ") + more || "none"}</span>
    </>
  );
}
