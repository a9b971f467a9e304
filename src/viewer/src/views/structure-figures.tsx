// SPDX-License-Identifier: Apache-2.0
import { useMemo, useRef } from "preact/hooks";
import type { Report } from "../data/report";
import type { Theme } from "../draw/colour";
import * as show from "../model/format";
import { densityScale } from "../model/matrix";
import type { Matrix } from "../model/matrix";
import { FigureGrid } from "./figure-grid";
import { Legend } from "./legend";
import { useNavigation } from "./navigation";
import { useChangePage, usePageState } from "./page-state";
import { Segmented } from "./segmented";
import { where } from "./structure-table";
import { Term } from "./term";
import { ThreadTable } from "./thread-table";

interface Props {
  report: Report;
  position: number;
  matrix: Matrix;
  theme: Theme;
}

export function StructureFigures({ report, position, matrix, theme }: Props) {
  const structure = report.structures[position]!;
  const { measure, scale } = usePageState("measure", "scale");
  const change = useChangePage();
  const root = useRef<HTMLDivElement>(null);
  const extent = { width: matrix.length, height: matrix.threads };
  const navigation = useNavigation(extent, root);
  const { end: largest, clipped } = useMemo(() => densityScale(matrix, measure), [matrix, measure]);
  const perColumn = structure.pages_per_column;
  return (
    <section id="structure" class="structure" aria-labelledby="structure-name">
      <div class="heading">
        <h2 id="structure-name" class="structure-name">
          <bdi>{structure.name}</bdi>
        </h2>
      </div>
      <p class="origin">
        {structure.kind} · {show.bytes(structure.size)} in {show.count(structure.pages)} pages
        {structure.instances > 1 && `, ${show.count(structure.instances)} instances summed up`}
        {where(structure) && (
          <>
            {" · allocated at "}
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
      <div class="with-aside">
        <div
          class="figures"
          ref={root}
          tabIndex={0}
          role="group"
          aria-label="Figures by page and thread. Plus and minus zoom, arrows move, 0 shows everything."
          onKeyDown={navigation.onKeyDown}
        >
          <div class="toolbar">
            <Segmented
              label="Accesses"
              options={[
                ["both", "both"],
                ["reads", "reads"],
                ["writes", "writes"],
              ]}
              value={measure}
              onChange={(value) => change({ measure: value })}
            />
            <Segmented
              label="Colour"
              options={[
                ["linear", "linear"],
                ["log", "logarithmic"],
              ]}
              value={scale}
              onChange={(value) => change({ scale: value })}
            />
            <div class="zoom" role="group" aria-label="Zoom">
              <button type="button" aria-label="Zoom in" onClick={() => navigation.zoomBy(0.5)}>
                +
              </button>
              <button type="button" aria-label="Zoom out" onClick={() => navigation.zoomBy(2)}>
                −
              </button>
              <button type="button" disabled={navigation.whole} onClick={navigation.reset}>
                whole structure
              </button>
            </div>
            <Legend largest={largest} clipped={clipped} scale={scale} theme={theme} />
          </div>
          <FigureGrid
            report={report}
            matrix={matrix}
            navigation={navigation}
            measure={measure}
            scale={scale}
            largest={largest}
            theme={theme}
          />
          <p class="hint">
            Drag to zoom into a part, double-click for the whole; Shift and drag to move. After a
            click the wheel zooms (Shift: threads), as do the keys + − [ ] and the arrows.
            {perColumn > 1 &&
              ` Each column sums up ${show.count(perColumn)} pages (${show.bytes(perColumn * report.run.page_size)}).`}
          </p>
        </div>
        <aside class="reading" aria-label="What the figures show">
          <h3>What this shows</h3>
          {structure.reading.see.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
          {structure.reading.advice.length > 0 && <h3>What to do</h3>}
          {structure.reading.advice.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
          <HowToRead />
        </aside>
      </div>
      <ThreadTable report={report} matrix={matrix} />
    </section>
  );
}

function HowToRead() {
  return (
    <details open>
      <summary>How to read the figures</summary>
      <p>
        <b>Access distribution.</b> Across: the structure's <Term of="page">pages</Term>, in order.
        Down: the <Term of="thread">threads</Term>. The colour of a field is how often that thread
        accesses that page. The curve above is the average over threads, the bars to the right the
        average over pages.
      </p>
      <p>
        A diagonal or blocks: each thread has its own part, good. Full columns or an even field: all
        threads use the same pages, so wherever a page is, it is far from most of them. One bright
        row: one thread does most of the work.
      </p>
      <p>
        <b>First touch.</b> On the same axis: which thread touched each page first. The kernel put
        the page on the <Term of="node" /> where that thread ran. Where the two figures have the
        same shape, pages are near their users. A single line means that one thread initialised
        everything, and all pages are on its node.
      </p>
    </details>
  );
}
