// SPDX-License-Identifier: Apache-2.0

/** At or above DENSE nodes, only their numbers fit. At or above MANY, paper has only colours. */
const DENSE = 6;
const MANY = 17;

export function isDense(nodes: number): boolean {
  return nodes >= DENSE;
}

/** The class of a table with a row and a column for each node. */
export function matrixClass(nodes: number): string {
  if (nodes >= MANY) return "traffic dense many";
  return isDense(nodes) ? "traffic dense" : "traffic";
}
