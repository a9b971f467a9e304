// SPDX-License-Identifier: Apache-2.0
import { scaleLinear } from "d3-scale";
import { useState } from "preact/hooks";
import type { Balance } from "../../data/balance";
import type { Theme } from "../../model/page-state";
import { drawLoads, loadColour } from "../../draw/loads";
import * as show from "../../model/format";
import { coresOf, loadsCsv, nodeSpans } from "../../model/mappings";
import { Canvas } from "../elements/canvas";
import { SaveMenu } from "../page/save-menu";
import { NodeAxis } from "./node-axis";

interface Props {
  balance: Balance;
  selected: number;
  theme: Theme;
}

/** The time of each core under the chosen mapping, and under the present one. */
export function CoreLoads({ balance, selected, theme }: Props) {
  const { results, bar_nodes: nodes, cores_per_bar: size } = balance;
  const [before, after] = [results[0]!.loads, results[selected]!.loads];
  const top = 1.05 * Math.max(1, ...before, ...after);
  const title = `Load of each core: ${results[selected]!.label}`;
  const [bar, setBar] = useState(0);
  return (
    <section id="core-loads" class="panel" aria-labelledby="loads-title" data-figure>
      <div class="heading">
        <h2 id="loads-title">
          Load of each core: <bdi>{results[selected]!.label}</bdi>
        </h2>
        <SaveMenu title={title} table={() => loadsCsv(balance, selected)} />
      </div>
      <div class="core-grid">
        <LoadAxis top={top} />
        <div
          class="core-plot loads"
          tabIndex={0}
          role="group"
          aria-label="Loads of cores; the arrow keys move from core to core"
          onKeyDown={(event) => step(event, after.length, bar, setBar)}
          onPointerMove={(event) => setBar(barAt(event, after.length))}
          onPointerDown={(event) => setBar(barAt(event, after.length))}
        >
          <Canvas
            role="img"
            aria-label={`Longest: ${Math.max(...after).toFixed(2)}, before ${Math.max(...before).toFixed(2)}. The numbers can be saved.`}
            inputs={[balance, selected, theme]}
            draw={(surface) => drawLoads(surface, { before, after, top }, theme)}
          />
          <i
            class="marked not-saved"
            style={{ left: `${(100 * bar) / after.length}%`, width: `${100 / after.length}%` }}
          />
        </div>
        <NodeAxis spans={nodeSpans(nodes)} />
      </div>
      <p class="core-reading not-saved" aria-live="polite">
        {coresOf(balance, bar * size, size)}: <b>{after[bar]!.toFixed(3)}</b>
        {selected > 0 && <>, before {before[bar]!.toFixed(3)}</>}
      </p>
      <p class="how">
        <span class="swatch" style={{ background: loadColour(theme) }} />{" "}
        <bdi>{results[selected]!.label}</bdi> · line: the present mapping · dashed: perfect balance,
        which is 1{size > 1 && ` · a bar is the slowest of ${show.count(size)} cores`}
      </p>
    </section>
  );
}

function LoadAxis({ top }: { top: number }) {
  const ticks = scaleLinear([0, top], [0, 1]).ticks(5);
  return (
    <div class="load-axis" aria-hidden="true">
      {ticks.map((value) => (
        <span key={value} style={{ bottom: `${(100 * value) / top}%` }}>
          {value}
        </span>
      ))}
    </div>
  );
}

function barAt(event: PointerEvent, bars: number): number {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const bar = Math.floor(((event.clientX - box.left) / Math.max(1, box.width)) * bars);
  return Math.max(0, Math.min(bars - 1, bar));
}

function step(event: KeyboardEvent, bars: number, bar: number, setBar: (bar: number) => void) {
  const next = { ArrowLeft: bar - 1, ArrowRight: bar + 1, Home: 0, End: bars - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  setBar(Math.max(0, Math.min(bars - 1, next)));
}
