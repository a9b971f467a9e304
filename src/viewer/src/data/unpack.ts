// SPDX-License-Identifier: Apache-2.0
// Makes a Report from the base64 text in the page; src/numascape/report/encode.py has the layout.

import type { Balance } from "./balance";
import type { Comparison } from "./comparison";
import type { Experiment } from "./experiment";
import type { Job } from "./job";
import type { MachineContent } from "./machine-page";
import type { Prediction } from "./prediction";
import type { Processes } from "./processes";
import type { Column, Report } from "./report";

const FORMAT = "numascape-report";
const VERSION = 2;
const JOB = { format: "numascape-job", version: 1, tables: ["ranks", "cells"] };
const PREDICTION = { format: "numascape-prediction", version: 1, tables: [] };
const MACHINE = { format: "numascape-machine", version: 1, tables: [] };
const BALANCE = { format: "numascape-balance", version: 1, tables: ["activity"] };
const EXPERIMENT = { format: "numascape-experiment", version: 1, tables: [] };
const PROCESSES = { format: "numascape-processes", version: 2, tables: [] };
const COMPARISON = { format: "numascape-comparison", version: 1, tables: [] };

/** The parts of a report with columns. */
const TABLES = [
  ...["columns", "cells", "first_touches", "spans", "sharing", "traffic", "lines"],
  ...["memory_lines", "access_paths", "touch_paths"],
];

interface Stored {
  at: number;
  length: number;
  bytes: number;
  delta: boolean;
}

export type Content =
  | { job: Job }
  | { comparison: Comparison }
  | { prediction: Prediction }
  | { machine: MachineContent }
  | { balance: Balance }
  | { experiment: Experiment }
  | { processes: Processes }
  | { report: Report };

/**
 * Unpacks what the page shows: a job, two runs compared, predictions, a machine, mappings of tasks,
 * measurements of the page cache, running processes, or the report of one trace. `other` has
 * further data of the page, by its id.
 */
export async function unpackPage(base64: string, other: (id: string) => string): Promise<Content> {
  const block = await inflate(decodeBase64(base64));
  const format = formatOf(block);
  if (format === JOB.format) return { job: readBlock(block, JOB) as Job };
  if (format === PREDICTION.format) {
    return { prediction: readBlock(block, PREDICTION) as Prediction };
  }
  if (format === MACHINE.format) return { machine: readBlock(block, MACHINE) as MachineContent };
  if (format === BALANCE.format) return { balance: readBlock(block, BALANCE) as Balance };
  if (format === EXPERIMENT.format) {
    return { experiment: readBlock(block, EXPERIMENT) as Experiment };
  }
  if (format === PROCESSES.format) return { processes: readBlock(block, PROCESSES) as Processes };
  if (format !== COMPARISON.format) return { report: parseBlock(block) };
  const compared = readBlock(block, COMPARISON) as Omit<Comparison, "reports">;
  const [a, b] = await Promise.all(["run-a", "run-b"].map((id) => unpackReport(other(id))));
  return { comparison: { ...compared, reports: [a!, b!] } };
}

export async function unpackReport(base64: string): Promise<Report> {
  return parseBlock(await inflate(decodeBase64(base64)));
}

export function decodeBase64(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function parseBlock(block: Uint8Array): Report {
  return readBlock(block, { format: FORMAT, version: VERSION, tables: TABLES }) as Report;
}

/** A block's text with its columns unpacked; it must be of that format and version. */
export function readBlock(
  block: Uint8Array,
  wanted: { format: string; version: number; tables: readonly string[] },
): unknown {
  const { text, textEnd } = textOf(block);
  if (text.format !== wanted.format || text.version !== wanted.version) {
    throw new Error(`not a ${wanted.format} of version ${wanted.version}`);
  }
  const planes = block.subarray(textEnd);
  for (const table of wanted.tables) unpackTable(planes, text[table]);
  for (const other of text.elsewhere ?? []) {
    unpackTable(planes, other.traffic);
    unpackTable(planes, other.line_traffic);
  }
  return text;
}

/** Replaces the descriptions of columns in `table`, if there is one, by their values. */
function unpackTable(planes: Uint8Array, table: Record<string, unknown> | null | undefined): void {
  for (const [name, value] of Object.entries(table ?? {})) {
    if (isStored(value)) table![name] = unpackColumn(planes, value);
  }
}

function textOf(block: Uint8Array) {
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  const textEnd = 4 + view.getUint32(0, true);
  return { text: JSON.parse(new TextDecoder().decode(block.subarray(4, textEnd))), textEnd };
}

function formatOf(block: Uint8Array): string {
  return String(textOf(block).text.format);
}

function isStored(value: unknown): value is Stored {
  return typeof value === "object" && value !== null && "delta" in value;
}

export function unpackColumn(planes: Uint8Array, { at, length, bytes, delta }: Stored): Column {
  if (at + length * bytes > planes.length) throw new Error("the report's data is incomplete");
  // Differences may have more bytes than their sums, so they are added up as doubles.
  const values = delta || bytes > 4 ? new Float64Array(length) : allocate(bytes, length);
  for (let plane = bytes - 1; plane >= 0; plane--) {
    const start = at + plane * length;
    for (let i = 0; i < length; i++) values[i] = values[i]! * 256 + planes[start + i]!;
  }
  if (delta) {
    let value = 0;
    for (let i = 0; i < length; i++) {
      const zigzag = values[i]!;
      value += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      values[i] = value;
    }
  }
  return values;
}

function allocate(bytes: number, length: number): Column {
  if (bytes === 1) return new Uint8Array(length);
  return bytes === 2 ? new Uint16Array(length) : new Uint32Array(length);
}
