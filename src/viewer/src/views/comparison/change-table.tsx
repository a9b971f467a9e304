// SPDX-License-Identifier: Apache-2.0
import type { ComparedSide, ComparedStructure, Comparison } from "../../data/comparison";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { changeOf, minorCount, onlyIn, sideRows } from "../../model/changes";
import type { ChangeKey, ChangeRow } from "../../model/changes";
import * as show from "../../model/format";
import { matrixOf } from "../../model/matrix";
import { useChangePage, usePageState } from "../page/page-state";
import { MinorSwitch } from "../elements/minor-switch";
import { selectByKey } from "../elements/row-keys";
import { SortHeading } from "../elements/sort-heading";
import { SaveMenu } from "../page/save-menu";
import { StripCell, StripLegend } from "../structures/strip-cell";
import { changeTable } from "./change-csv";
import { Wide } from "../elements/wide";

interface Props {
  comparison: Comparison;
  reports: [Report, Report];
  rows: ChangeRow[];
  selected: number;
  onSelect: (row: number) => void;
  theme: Theme;
}

/** The structures of both runs: the numbers of A above those of B, as the strips, and the change. */
export function ChangeTable(props: Props) {
  const { comparison, reports, rows, selected, onSelect, theme } = props;
  const { table } = usePageState("table");
  const change = useChangePage();
  const positions = rows.map(({ row }) => row);
  return (
    <section aria-labelledby="structures">
      <div class="heading">
        <h2 id="structures">Structures</h2>
        <div class="controls">
          <input
            type="search"
            placeholder="Search name, file, function"
            aria-label="Search structures"
            value={table.search}
            onInput={(event) => change({ table: { ...table, search: event.currentTarget.value } })}
          />
          <SaveMenu
            title="Structures of both runs"
            table={() => changeTable(rows)}
            picture={false}
          />
        </div>
      </div>
      <Wide>
        <table
          class="structures changes"
          aria-label="Structures of both runs"
          onKeyDown={(event) => selectByKey(event, positions, selected, onSelect)}
        >
          <Head several={comparison.several_nodes} />
          <tbody>
            {rows.map((row) => (
              <Row key={row.row} of={row} {...props} />
            ))}
          </tbody>
        </table>
        {rows.length === 0 && <p class="empty">No structure matches.</p>}
      </Wide>
      <MinorStructures comparison={comparison} />
      <p class="how">
        Each strip shows a structure from its first page (left) to its last page: A above B. The
        change of a share is in percentage points.{" "}
        <StripLegend report={reports[1]} colourBy="thread" theme={theme} />
      </p>
    </section>
  );
}

function MinorStructures({ comparison: { structures } }: { comparison: Comparison }) {
  const { table } = usePageState("table");
  const change = useChangePage();
  const minor = minorCount(structures);
  if (minor === 0) return null;
  return (
    <MinorSwitch
      checked={table.minor}
      onChecked={(checked) => change({ table: { ...table, minor: checked } })}
    >
      {show.count(minor)} minor structure{minor > 1 && "s"}, below {show.share(0.0001)} of the
      accesses in both runs
    </MinorSwitch>
  );
}

/** Numbers of both runs in two columns: those of A above those of B, and the change. */
const NUMBERS: readonly (readonly [Exclude<ChangeKey, "name">, string])[] = [
  ["share", "Share"],
  ["foreign", "Foreign"],
  ["remote", "Remote"],
  ["accesses", "Accesses"],
];

function numbersOf(several: boolean) {
  return NUMBERS.filter(([key]) => several || key !== "remote");
}

function Head({ several }: { several: boolean }) {
  const { changes } = usePageState("changes");
  const change = useChangePage();
  const heading = (key: ChangeKey, title: string, number: boolean) => (
    <SortHeading
      key={key}
      of={key}
      title={title}
      order={changes}
      largestFirst={key !== "name"}
      onOrder={(order) => change({ changes: order })}
      cell={
        number
          ? { scope: "colgroup", class: "number group", colSpan: 2 }
          : { class: "", rowSpan: 2 }
      }
    />
  );
  return (
    <thead>
      <tr>
        {heading("name", "Name", false)}
        <th scope="col" rowSpan={2} class="strip">
          Pages, by dominant thread
        </th>
        {numbersOf(several).map(([key, label]) => heading(key, label, true))}
        <th scope="col" rowSpan={2} class="number group">
          First touch by
        </th>
        {several && (
          <th scope="col" rowSpan={2} class="group">
            Pages on nodes
          </th>
        )}
      </tr>
      <tr>
        {numbersOf(several).map(([key]) => [
          <th key={key} scope="col" class="number group">
            <Sides texts={["A", "B"]} />
          </th>,
          <th key={`${key}change`} scope="col" class="number">
            change
          </th>,
        ])}
      </tr>
    </thead>
  );
}

/** What belongs to A above what belongs to B. */
function Sides({ texts: [a, b] }: { texts: readonly [string, string] }) {
  return (
    <>
      <span class="side">{a}</span> <span class="side">{b}</span>
    </>
  );
}

function Row({ of, comparison, reports, selected, onSelect, theme }: Props & { of: ChangeRow }) {
  const { row, structure } = of;
  const only = onlyIn(structure);
  const several = comparison.several_nodes;
  const [a, b] = structure.sides;
  return (
    <tr aria-selected={row === selected} data-position={row} onClick={() => onSelect(row)}>
      <th scope="row">
        <button type="button" class="name" title={structure.name} aria-pressed={row === selected}>
          <bdi>{structure.name}</bdi>
        </button>
        <span class="origin">
          {only && <b>only in {only} · </b>}
          {structure.kind}
          {place(structure) && <bdi> · {place(structure)}</bdi>}
          {sizes(structure)}
        </span>
      </th>
      <td class="strip">
        {sideRows(structure).map(([letter, side], i) => (
          <Strip key={letter} letter={letter} side={side} report={reports[i]!} theme={theme} />
        ))}
      </td>
      {numbersOf(several).map(([key]) => (
        <Numbers key={key} of={key} structure={structure} />
      ))}
      <td class="number group">
        <Sides texts={[toucher(a), toucher(b)]} />
      </td>
      {several && (
        <td class="nodes group" title={[a, b].map(allNodes).join("\n")}>
          <Sides texts={[nodes(a), nodes(b)]} />
        </td>
      )}
    </tr>
  );
}

interface StripProps {
  letter: string;
  side: ComparedSide | null;
  report: Report;
  theme: Theme;
}

function Strip({ letter, side, report, theme }: StripProps) {
  if (!side) return <span class="no-strip">not in {letter}</span>;
  if (!report.structures[side.position]) {
    return <span class="no-strip">left out of the report of {letter}</span>;
  }
  return (
    <StripCell
      report={report}
      matrix={matrixOf(report, side.position)}
      colourBy="thread"
      label={`Overview of ${letter}: ${report.structures[side.position]!.reading.verdict || "no pattern named"}`}
      theme={theme}
    />
  );
}

interface NumbersProps {
  of: Exclude<ChangeKey, "name">;
  structure: ComparedStructure;
}

function Numbers({ of, structure }: NumbersProps) {
  const [a, b] = structure.sides;
  const text = (side: ComparedSide | null) => {
    const value = side?.[of];
    if (!side) return "–";
    if (value == null) return "?";
    return of === "accesses" ? show.short(value) : show.share(value);
  };
  const more = changeOf(structure, of);
  const bad = of === "foreign" || of === "remote";
  const tone = bad && more !== undefined && Math.abs(more) >= 0.005;
  return (
    <>
      <td class="number group">
        <Sides texts={[text(a), text(b)]} />
      </td>
      <td class={`number change ${tone ? (more > 0 ? "worse" : "better") : ""}`}>
        {changeText(of, a?.[of], more)}
      </td>
    </>
  );
}

/** Accesses change in percent, shares in percentage points. */
function changeText(of: ChangeKey, before: number | null | undefined, more?: number): string {
  if (more === undefined || before == null) return "";
  if (of !== "accesses") return Math.abs(more) < 0.0005 ? "=" : show.points(more);
  if (more === 0) return "=";
  return before === 0 ? "" : show.signedPercent(more / before);
}

function place({ file, line, function: name }: ComparedStructure): string {
  return file ? `${file}${line ? `:${line}` : ""}` : name;
}

function sizes({ sides: [a, b] }: ComparedStructure): string {
  const text = (side: ComparedSide) =>
    `${side.instances > 1 ? `${show.count(side.instances)} × ` : ""}${show.bytes(side.size)}`;
  const both = [a, b].flatMap((side) => (side ? [text(side)] : []));
  return ` · ${[...new Set(both)].join(" → ")}`;
}

function toucher(side: ComparedSide | null): string {
  if (!side) return "–";
  if (side.first === null || side.first_share === null) return "?";
  return `${side.first}${side.first_share < 1 ? ` (${show.share(side.first_share)})` : ""}`;
}

const MAX_NODES = 2;

/** The nodes of the pages, and their shares; of many nodes, the smallest and the largest share. */
function nodes(side: ComparedSide | null): string {
  if (!side) return "–";
  const pages = side.nodes.reduce((sum, [, count]) => sum + count, 0);
  if (pages === 0) return "?";
  if (side.nodes.length === 1) return `all on ${side.nodes[0]![0]}`;
  if (side.nodes.length <= MAX_NODES) return allNodes(side);
  const counts = side.nodes.map(([, count]) => count);
  const [least, most] = [Math.min(...counts), Math.max(...counts)].map((n) =>
    show.percent(n / pages),
  );
  const shares = least === most ? `${most} each` : `${least!.replace(/\s*%/, "")}–${most}`;
  return `${side.nodes.length} nodes, ${shares}`;
}

function allNodes(side: ComparedSide | null): string {
  const nodes = side?.nodes ?? [];
  const pages = nodes.reduce((sum, [, count]) => sum + count, 0);
  return nodes.map(([node, n]) => `${node}: ${show.percent(n / pages)}`).join(", ");
}
