// SPDX-License-Identifier: Apache-2.0
// The structures of both runs as an exact, unformatted table for saving.

import type { ComparedSide } from "../../data/comparison";
import type { ChangeRow } from "../../model/changes";
import type { CsvTable, CsvValue } from "../../model/csv";

const NUMBERS = [
  ...["size", "instances", "accesses", "share", "foreign", "remote"],
  ...["first", "first_share"],
] as const;

export function changeTable(rows: readonly ChangeRow[]): CsvTable {
  return {
    columns: [
      ...["name", "kind", "function", "file", "line"],
      ...NUMBERS.map((column) => `a_${column}`),
      ...NUMBERS.map((column) => `b_${column}`),
    ],
    rows: rows.map(({ structure: { name, kind, function: of, file, line, sides } }) => [
      ...[name, kind, of, file, line],
      ...numbers(sides[0]),
      ...numbers(sides[1]),
    ]),
  };
}

function numbers(side: ComparedSide | null): CsvValue[] {
  return NUMBERS.map((column) => side?.[column as keyof ComparedSide] as CsvValue);
}
