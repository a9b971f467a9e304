// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { pixel } from "../../draw/colour";
import { fillPixels } from "../../draw/surface";
import type { Surface } from "../../draw/surface";
import * as show from "../../model/format";
import { type Matrices, threadSums } from "../../model/matrix";
import { readWriteOf } from "../../model/read-write";
import type { CsvTable } from "../../model/csv";
import { Canvas } from "../elements/canvas";
import { SaveMenu } from "../page/save-menu";
import { Wide } from "../elements/wide";

interface Props {
  report: Report;
  matrix: Matrices;
  positions: number[];
  theme: Theme;
}

/** Colours of neither, reads, writes, both (Okabe and Ito's, which all readers can distinguish). */
const USES: Record<Theme, readonly string[]> = {
  light: ["#eceef0", "#56b4e9", "#e69f00", "#27496b"],
  dark: ["#262c34", "#56b4e9", "#e69f00", "#e8eef4"],
  grey: ["#f4f4f4", "#c6c6c6", "#8a8a8a", "#161616"],
};
const LABELS = ["neither", "reads only", "writes only", "reads and writes"];
const MAX_STRUCTURES = 200;

export function ReadWritePanel({ report, matrix, positions, theme }: Props) {
  const numbers = useMemo(() => report.threads.map(({ thread }) => thread), [report]);
  const shared = positions.filter((position) => report.structures[position]!.kind !== "stack");
  const shown = shared.slice(0, MAX_STRUCTURES);
  return (
    <section aria-labelledby="read-write" data-figure="read-write">
      <div class="heading">
        <h2 id="read-write">Who reads, who writes</h2>
        <ul class="uses">
          {LABELS.map((label, use) => (
            <li key={label}>
              <span class="swatch" style={{ background: USES[theme][use] }} /> {label}
            </li>
          ))}
        </ul>
        <SaveMenu
          title="Who reads, who writes"
          table={() => usesTable(report, matrix, shown, numbers)}
        />
      </div>
      <Wide label="Table of readers and writers">
        <table class="read-write">
          <thead>
            <tr>
              <th scope="col">Structure</th>
              <th scope="col">
                Threads {numbers[0]} to {numbers[numbers.length - 1]}
              </th>
              <th scope="col">Never read it</th>
              <th scope="col">Never write it</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((position) => (
              <Row
                key={position}
                name={report.structures[position]!.name}
                uses={readWriteOf(matrix(position), numbers)}
                threads={numbers.length}
                theme={theme}
              />
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="how">
        Each strip has one cell per thread, with thread 0 on the left. A structure that is not
        written after its initialisation can have a copy on every node. If one thread writes a
        structure and all others read it, each write causes traffic. Let each thread write the part
        that it uses, or write the structure less often. Stacks are left out.
        {shared.length > MAX_STRUCTURES &&
          ` Only the first ${MAX_STRUCTURES} structures of the table above are shown.`}
      </p>
    </section>
  );
}

interface RowProps {
  name: string;
  uses: ReturnType<typeof readWriteOf>;
  threads: number;
  theme: Theme;
}

function Row({ name, uses: { use, neverRead, neverWrite }, threads, theme }: RowProps) {
  return (
    <tr>
      <th scope="row">
        <bdi class="name">{name.slice(0, 400)}</bdi>
      </th>
      <td class="strip">
        <Canvas
          lazy
          aria-hidden="true"
          inputs={[theme]}
          draw={(surface) => drawUse(surface, use, USES[theme])}
        />
      </td>
      <td class="threads">{show.ranges(neverRead, threads)}</td>
      <td class="threads">{show.ranges(neverWrite, threads)}</td>
    </tr>
  );
}

/** One row per structure and thread that uses it. */
function usesTable(
  report: Report,
  matrix: Matrices,
  positions: number[],
  numbers: number[],
): CsvTable {
  const rows = positions.flatMap((position) => {
    const { reads, writes } = threadSums(matrix(position));
    const { name } = report.structures[position]!;
    return numbers.flatMap((thread, row) =>
      reads[row]! + writes[row]! > 0 ? [[name, thread, reads[row]!, writes[row]!]] : [],
    );
  });
  return { columns: ["structure", "thread", "reads", "writes"], rows };
}

function drawUse(
  { context, width, height }: Surface,
  use: Uint8Array,
  colours: readonly string[],
): void {
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const values = colours.map((colour) => pixel(colour));
  // Where several threads share a pixel, it shows everything that any of them does.
  const seen = new Uint8Array(width);
  const gap = width / use.length > 6 ? 1 : 0;
  use.forEach((value, row) => {
    const left = Math.floor((row * width) / use.length);
    const right = Math.max(left + 1, Math.floor(((row + 1) * width) / use.length) - gap);
    for (let x = left; x < right; x++) seen[x]! |= value;
    for (let x = left; x < right; x++) {
      fillPixels(pixels, width, [x, x + 1], [0, height], values[seen[x]!]!);
    }
  });
  context.putImageData(image, 0, 0);
}
