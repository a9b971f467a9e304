// SPDX-License-Identifier: Apache-2.0

/** From DENSE nodes on, only their numbers fit; from BROAD on, text on paper is smaller. */
const DENSE = 6;
const BROAD = 11;
/** From MANY nodes on, paper has only colours. */
const MANY = 17;

export function isDense(nodes: number): boolean {
  return nodes >= DENSE;
}

/** The class of a table with a row and a column for each node. */
export function matrixClass(nodes: number): string {
  const classes = ["traffic"];
  if (nodes >= DENSE) classes.push("dense");
  if (nodes >= BROAD) classes.push("broad");
  if (nodes >= MANY) classes.push("many");
  return classes.join(" ");
}
