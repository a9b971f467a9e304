// SPDX-License-Identifier: Apache-2.0
import type { Report, Structure } from "../../data/report";
import type { ColourBy, Theme } from "../../model/page-state";
import { knowsThreads, seesAccesses, wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import type { Matrix } from "../../model/matrix";
import { structuresTable } from "../../model/overview-tables";
import { folded } from "../../model/structure-list";
import type {
  Folded,
  SortKey,
  StructureRow,
  StructureRows,
  Wanted,
} from "../../model/structure-list";
import { remoteShare } from "../../model/traffic";
import { MinorSwitch } from "../elements/minor-switch";
import { selectByKey } from "../elements/row-keys";
import { SortHeading } from "../elements/sort-heading";
import { SaveMenu } from "../page/save-menu";
import { Segmented } from "../elements/segmented";
import { SplitBar } from "./split-bar";
import { StripCell, StripLegend } from "./strip-cell";
import { Term } from "../elements/term";
import { Wide } from "../elements/wide";

interface Props {
  report: Report;
  /** The matrices of the chosen phases, by position. */
  matrix: (position: number) => Matrix;
  all: StructureRows;
  listed: StructureRow[];
  wanted: Wanted;
  onWanted: (wanted: Wanted) => void;
  colourBy: ColourBy;
  onColourBy: (colourBy: ColourBy) => void;
  selected: number;
  onSelect: (position: number) => void;
  theme: Theme;
}

const COLOURS = [
  ["thread", "thread"],
  ["node", "node"],
] as const;

export function StructureTable(props: Props) {
  const { report, listed, wanted, onWanted, colourBy, onColourBy } = props;
  const threads = knowsThreads(report.run);
  const several = threads && severalNodes(report);
  const positions = listed.map(({ position }) => position);
  return (
    <section aria-labelledby="structures">
      <div class="heading">
        <h2 id="structures">
          <Term of="structure">Structures</Term>
        </h2>
        <div class="controls">
          {several && (
            <Segmented label="Colour by" options={COLOURS} value={colourBy} onChange={onColourBy} />
          )}
          <input
            type="search"
            placeholder="Search name, file, function"
            aria-label="Search structures"
            value={wanted.search}
            onInput={(event) => onWanted({ ...wanted, search: event.currentTarget.value })}
          />
          <SaveMenu
            title="Structures"
            table={() => structuresTable(report, listed)}
            picture={false}
          />
        </div>
      </div>
      <Wide>
        <table
          class="structures"
          aria-label="Structures"
          onKeyDown={(event) => selectByKey(event, positions, props.selected, props.onSelect)}
        >
          <Head {...props} />
          <tbody>
            {listed.map((row) => (
              <Row key={row.position} row={row} {...props} />
            ))}
          </tbody>
        </table>
        {listed.length === 0 && <p class="empty">No structure matches.</p>}
      </Wide>
      <FoldedSwitch {...props} />
      <p class="how">
        Each strip shows a structure from its first page (left) to its last page.{" "}
        {!threads ? (
          `A stronger colour means more ${wordsOf(report.run).all}.`
        ) : seesAccesses(report.run) ? (
          <StripLegend report={report} colourBy={colourBy} theme={props.theme} />
        ) : (
          `The colour shows which ${colourBy} touched most pages of that part first.`
        )}
      </p>
    </section>
  );
}

export function severalNodes({ traffic }: Report): boolean {
  return traffic.nodes.length > 1;
}

/** Only a trace of accesses shows whether pages are remote for their users. */
function knowsRemote(report: Report): boolean {
  return severalNodes(report) && seesAccesses(report.run) && knowsThreads(report.run);
}

/** Stacks, the runtime's own memory and what is hardly used, behind one switch. */
function FoldedSwitch({ report, all, wanted, onWanted }: Props) {
  const away = folded(all);
  if (away.stacks + away.others === 0) return null;
  return (
    <MinorSwitch
      checked={wanted.minor}
      onChecked={(checked) => onWanted({ ...wanted, minor: checked })}
    >
      {foldedText(away, wordsOf(report.run).all)}
    </MinorSwitch>
  );
}

function foldedText({ stacks, others, share }: Folded, unit: string): string {
  const parts: string[] = [];
  if (stacks > 0) parts.push(`${show.count(stacks)} thread stack${stacks > 1 ? "s" : ""}`);
  if (others > 0) {
    parts.push(
      `${show.count(others)} minor structure${others > 1 ? "s" : ""}, such as the runtime's`,
    );
  }
  return `${parts.join(" and ")} (${show.share(share)} of the ${unit})`;
}

function headings({ run }: Report): readonly (readonly [SortKey, string])[] {
  const { readsHeading, writesHeading, all } = wordsOf(run);
  if (!knowsThreads(run)) {
    return [
      ["size", "Size"],
      ["reads", `${all[0]!.toUpperCase()}${all.slice(1)}`],
      ["share", "Share"],
    ];
  }
  const numbers = [
    ["reads", readsHeading],
    ["writes", writesHeading],
  ] as const;
  return [
    ["size", "Size"],
    ...(seesAccesses(run) ? numbers : []),
    ["share", seesAccesses(run) ? "Share" : "Share of pages"],
    ["threads", seesAccesses(run) ? "Threads" : "Touched by"],
  ];
}

function Head({ report, colourBy, wanted, onWanted }: Props) {
  const seen = seesAccesses(report.run);
  const heading = (key: SortKey, title: string, number: boolean) => (
    <SortHeading
      key={key}
      of={key}
      title={title}
      order={wanted.order}
      largestFirst={key !== "name"}
      onOrder={(order) => onWanted({ ...wanted, order })}
      cell={{ class: number ? "number" : "" }}
    />
  );
  return (
    <thead>
      <tr>
        {heading("name", "Name", false)}
        <th scope="col">
          Pages
          {knowsThreads(report.run) && `, by ${seen ? "dominant" : "first touching"} ${colourBy}`}
        </th>
        {headings(report).map(([key, label]) => heading(key, label, true))}
        {knowsRemote(report) && heading("remote", "Remote", true)}
        <th scope="col">Pattern</th>
      </tr>
    </thead>
  );
}

function Row({
  row,
  report,
  matrix,
  all,
  colourBy,
  selected,
  onSelect,
  theme,
}: Props & { row: StructureRow }) {
  const { structure, position, reads, writes, split } = row;
  const share = (reads + writes) / Math.max(1, all.accesses);
  const threads = knowsThreads(report.run);
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
        <StripCell
          report={report}
          matrix={matrix(position)}
          colourBy={colourBy}
          label={`Overview: ${structure.reading.verdict || "no pattern named"}`}
          theme={theme}
        />
      </td>
      <td class="number">{show.bytes(structure.size)}</td>
      {seesAccesses(report.run) &&
        (threads ? [reads, writes] : [reads]).map((number, i) => (
          <td key={i} class="number" title={show.count(number)}>
            {show.short(number)}
          </td>
        ))}
      <td class="number share">
        <span class="bar" style={{ width: `${share * 100}%` }} />
        <span>{show.share(share)}</span>
      </td>
      {threads && <td class="number">{show.count(row.threads)}</td>}
      {knowsRemote(report) && (
        <td class="number remote-share">
          <span>{show.share(remoteShare(split))}</span>
          <SplitBar split={split} label={wordsOf(report.run).all} />
        </td>
      )}
      <td class="pattern">{structure.reading.verdict}</td>
    </tr>
  );
}

export function where({ file, line, function: name, module }: Structure): string {
  if (file) return show.fileName(file).slice(0, 80) + (line ? `:${line}` : "");
  return (name || show.fileName(module)).slice(0, 80);
}
