// SPDX-License-Identifier: Apache-2.0
import type { Comparison, ComparedStructure } from "../../data/comparison";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { onlyIn } from "../../model/changes";
import * as show from "../../model/format";
import { BothFigures } from "./both-figures";
import { OneFigure } from "./one-figure";

interface Props {
  comparison: Comparison;
  reports: [Report, Report];
  structure: ComparedStructure;
  theme: Theme;
}

/** The figures of one structure in A and in B, and their difference. */
export function PairFigures({ comparison, reports, structure, theme }: Props) {
  const positions = structure.sides.map((side, i) =>
    side && reports[i]!.structures[side.position] ? side.position : undefined,
  );
  const [a, b] = positions;
  const names = comparison.runs.map(({ file }) => file) as [string, string];
  return (
    <section id="structure" class="structure" aria-labelledby="structure-name">
      <div class="heading">
        <h2 id="structure-name" class="structure-name">
          <bdi>{structure.name}</bdi>
        </h2>
      </div>
      <p class="origin">{described(structure)}</p>
      {a !== undefined && b !== undefined ? (
        <BothFigures reports={reports} positions={[a, b]} names={names} theme={theme} />
      ) : (
        [a, b].map((position, i) =>
          position === undefined ? (
            <p key={i} class="missing">
              {missing(structure, i)}
            </p>
          ) : (
            <OneFigure
              key={i}
              letter={i === 0 ? "A" : "B"}
              name={names[i]!}
              report={reports[i]!}
              position={position}
              theme={theme}
            />
          ),
        )
      )}
    </section>
  );
}

function missing(structure: ComparedStructure, i: number): string {
  const letter = i === 0 ? "A" : "B";
  return structure.sides[i]
    ? `The report of ${letter} leaves this structure out, because it has few accesses.`
    : `${letter} has no structure that matches it.`;
}

function described(structure: ComparedStructure): string {
  const { kind, function: name, file, line, sides } = structure;
  const only = onlyIn(structure);
  const parts = [
    kind,
    file && `${file}${line ? `:${line}` : ""}`,
    name,
    only && `only in ${only}`,
    ...sides.map((side, i) => {
      if (!side || side.alike < 2) return "";
      const letter = i === 0 ? "A" : "B";
      return `${letter} has ${show.count(side.alike)} such structures: the figure shows the most used one`;
    }),
  ];
  return parts.filter(Boolean).join(" · ");
}
