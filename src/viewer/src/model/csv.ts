// SPDX-License-Identifier: Apache-2.0
// Tables as CSV (RFC 4180) that spreadsheets open without evaluating formulas.

export type CsvValue = string | number | null | undefined;

export interface CsvTable {
  columns: readonly string[];
  rows: readonly (readonly CsvValue[])[];
}

/** Text with a byte order mark, by which spreadsheets know that it is UTF-8. */
export function csvOf({ columns, rows }: CsvTable): string {
  const lines = [columns, ...rows].map((cells) => cells.map(field).join(","));
  return `\ufeff${lines.join("\r\n")}\r\n`;
}

/** Text that a spreadsheet reads as a formula; names come from programs that are not trusted. */
const FORMULA = /^[\s\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

function field(value: CsvValue): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
