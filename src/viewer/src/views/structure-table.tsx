// SPDX-License-Identifier: Apache-2.0
import type { Report, Structure } from "../data/report";
import type { Theme } from "../draw/colour";
import { threadColour } from "../draw/colour";
import { drawStrip } from "../draw/maps";
import { stripOf } from "../model/bins";
import * as show from "../model/format";
import { isMinor } from "../model/structure-list";
import type { SortKey, Wanted } from "../model/structure-list";
import type { Matrices } from "./app";
import { Canvas } from "./canvas";
import { Term } from "./term";

interface Props {
  report: Report;
  matrix: Matrices;
  positions: number[];
  wanted: Wanted;
  onWanted: (wanted: Wanted) => void;
  selected: number;
  onSelect: (position: number) => void;
  theme: Theme;
}

export function StructureTable(props: Props) {
  const { report, positions, wanted, onWanted } = props;
  const accesses = report.run.reads + report.run.writes;
  const minor = report.structures.filter((structure) => isMinor(structure, accesses)).length;
  return (
    <section aria-labelledby="structures">
      <div class="heading">
        <h2 id="structures">
          <Term of="structure">Structures</Term>
        </h2>
        <div class="controls">
          <input
            type="search"
            placeholder="Search name, file, function"
            aria-label="Search structures"
            value={wanted.search}
            onInput={(event) => onWanted({ ...wanted, search: event.currentTarget.value })}
          />
          {minor > 0 && (
            <label class="switch">
              <input
                type="checkbox"
                checked={wanted.minor}
                onChange={(event) => onWanted({ ...wanted, minor: event.currentTarget.checked })}
              />
              also the {show.count(minor)} below 0.01 %
            </label>
          )}
        </div>
      </div>
      <div class="scroll" tabIndex={-1}>
        <table class="structures" aria-label="Structures" onKeyDown={(event) => move(event, props)}>
          <Head {...props} />
          <tbody>
            {positions.map((position) => (
              <Row key={position} position={position} {...props} />
            ))}
          </tbody>
        </table>
        {positions.length === 0 && <p class="empty">No structure matches.</p>}
      </div>
      <p class="how">
        Each strip is a structure from its first page (left) to its last. The colour says which{" "}
        <Term of="thread" /> uses that part most, from <ThreadRamp theme={props.theme} /> thread 0
        to the last; grey means that no thread dominates; stronger means more accesses. Bands of
        colour are good: each thread has its own part. Grey over a large share of the accesses is
        worth a look.
      </p>
    </section>
  );
}

function ThreadRamp({ theme }: { theme: Theme }) {
  const stops = Array.from({ length: 9 }, (_, i) => threadColour(i, 9, theme));
  const background = `linear-gradient(90deg, ${stops.join(", ")})`;
  return <span class="ramp" aria-hidden="true" style={{ background }} />;
}

const HEADINGS: { key: SortKey; label: string; number: boolean }[] = [
  { key: "size", label: "Size", number: true },
  { key: "reads", label: "Reads", number: true },
  { key: "writes", label: "Writes", number: true },
  { key: "share", label: "Share", number: true },
  { key: "threads", label: "Threads", number: true },
];

function Head({ wanted, onWanted }: Props) {
  const { key: sorted, descending } = wanted.order;
  const heading = (key: SortKey, label: string, number: boolean) => (
    <th
      key={key}
      scope="col"
      class={number ? "number" : ""}
      aria-sort={key !== sorted ? "none" : descending ? "descending" : "ascending"}
    >
      <button
        type="button"
        onClick={() => {
          const order = { key, descending: key === sorted ? !descending : key !== "name" };
          onWanted({ ...wanted, order });
        }}
      >
        {label}
        <span class="arrow" aria-hidden="true">
          {key !== sorted ? "" : descending ? "↓" : "↑"}
        </span>
      </button>
    </th>
  );
  return (
    <thead>
      <tr>
        {heading("name", "Name", false)}
        <th scope="col">Pages, by dominant thread</th>
        {HEADINGS.map(({ key, label, number }) => heading(key, label, number))}
        <th scope="col">Pattern</th>
      </tr>
    </thead>
  );
}

function Row({
  report,
  matrix,
  position,
  selected,
  onSelect,
  theme,
}: Props & { position: number }) {
  const structure = report.structures[position]!;
  const share =
    (structure.reads + structure.writes) / Math.max(1, report.run.reads + report.run.writes);
  return (
    <tr
      aria-selected={position === selected}
      data-position={position}
      onClick={() => onSelect(position)}
    >
      <th scope="row">
        <button
          type="button"
          class="name"
          title={structure.name.slice(0, 400)}
          aria-pressed={position === selected}
        >
          <bdi>{structure.name.slice(0, 400)}</bdi>
        </button>
        <span class="origin">
          {structure.kind}
          {where(structure) && <bdi> · {where(structure)}</bdi>}
          {structure.instances > 1 && ` · ${show.count(structure.instances)} instances`}
        </span>
      </th>
      <td class="strip">
        <Canvas
          lazy
          role="img"
          aria-label={`Overview: ${structure.reading.verdict || "no pattern named"}`}
          inputs={[theme]}
          draw={(surface) =>
            drawStrip(
              surface,
              stripOf(matrix(position), surface.width),
              report.threads.length,
              theme,
            )
          }
        />
      </td>
      <td class="number">{show.bytes(structure.size)}</td>
      <td class="number" title={show.count(structure.reads)}>
        {show.short(structure.reads)}
      </td>
      <td class="number" title={show.count(structure.writes)}>
        {show.short(structure.writes)}
      </td>
      <td class="number share">
        <span class="bar" style={{ width: `${share * 100}%` }} />
        <span>{show.share(share)}</span>
      </td>
      <td class="number">{show.count(structure.threads)}</td>
      <td class="pattern">{structure.reading.verdict}</td>
    </tr>
  );
}

export function where({ file, line, function: name, module }: Structure): string {
  if (file) return show.fileName(file).slice(0, 80) + (line ? `:${line}` : "");
  return (name || show.fileName(module)).slice(0, 80);
}

/** Up and down arrows select the neighbouring row. */
function move(event: KeyboardEvent, { positions, selected, onSelect }: Props): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const next = positions[positions.indexOf(selected) + step];
  if (next === undefined) return;
  event.preventDefault();
  onSelect(next);
  const table = event.currentTarget as HTMLElement;
  table.querySelector<HTMLElement>(`[data-position="${next}"] .name`)?.focus();
}
