// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { addressOf, readWindow } from "../src/data/detail";
import { pageWindow, serves, windowFor } from "../src/model/page-window";
import type { PageWindow } from "../src/model/page-window";
import type { Structure } from "../src/data/report";

const folded = { structure: 7, instance: -1, pages: 1e7, pages_per_column: 4096 } as Structure;

describe("a window of single pages", () => {
  it("is requested if the columns would be too wide for the view", () => {
    expect(windowFor(folded, { x0: 0, x1: 1e7 }, null)).toBeUndefined();
    expect(windowFor(folded, { x0: 1000, x1: 1100 }, null)).toEqual({
      structure: 7,
      instance: -1,
      first: 950,
      end: 1150,
      phases: null,
      lines: false,
    });
    expect(windowFor({ ...folded, pages_per_column: 1 }, { x0: 0, x1: 9 }, null)).toBeUndefined();
  });

  it("ends where the structure ends, and has a page at least", () => {
    expect(windowFor(folded, { x0: 0, x1: 100 }, null)).toMatchObject({ first: 0, end: 150 });
    const last = windowFor(folded, { x0: 1e7 - 0.5, x1: 1e7 }, null);
    expect(last).toMatchObject({ first: 9999999, end: 1e7 });
  });

  it("is asked for with the instance and the phases chosen", () => {
    const query = { structure: 7, instance: -1, first: 5, end: 9, phases: null, lines: false };
    expect(addressOf("detail", query)).toBe("detail?structure=7&from=5&to=9&columns=4096");
    const chosen = addressOf("detail", { ...query, instance: 3, phases: [0, 2] });
    expect(chosen).toBe("detail?structure=7&from=5&to=9&columns=4096&instance=3&phases=0%2C2");
  });

  it("serves views inside it that need no finer columns", () => {
    const query = windowFor(folded, { x0: 1e6, x1: 1e6 + 40960 }, null)!;
    const window = { query, pagesPerColumn: 32 } as PageWindow;
    const view = { x0: 1e6, x1: 1e6 + 40960 };
    expect(serves(window, windowFor(folded, view, null)!, view)).toBe(true);
    const moved = { x0: 1e6 + 10000, x1: 1e6 + 50000 };
    expect(serves(window, windowFor(folded, moved, null)!, moved)).toBe(true);
    const outside = { x0: 2e6, x1: 2e6 + 40960 };
    expect(serves(window, windowFor(folded, outside, null)!, outside)).toBe(false);
    const finer = { x0: 1e6, x1: 1e6 + 100 };
    expect(serves(window, windowFor(folded, finer, null)!, finer)).toBe(false);
    expect(serves(window, windowFor(folded, view, [1])!, view)).toBe(false);
    expect(serves(window, windowFor(folded, view, null, true)!, view)).toBe(false);
    const other = { ...folded, structure: 8 } as Structure;
    expect(serves(window, windowFor(other, view, null)!, view)).toBe(false);
  });

  it("is unpacked into a matrix of the structure's length", () => {
    const columns: number[] = [];
    const stored = (...values: number[]) => {
      const at = columns.length;
      columns.push(...values);
      return { at, length: values.length, bytes: 1, delta: false };
    };
    const text = JSON.stringify({
      format: "numascape-window",
      version: 1,
      pages_per_column: 1,
      columns: { start: stored(5, 6), pages: stored(1, 1), touched: stored(1, 1) },
      cells: {
        row: stored(0, 1),
        column: stored(0, 1),
        reads: stored(3, 4),
        writes: stored(0, 9),
        memory_lines: stored(0, 2),
        written_lines: stored(0, 1),
      },
      first_touches: {
        row: stored(1, 1),
        column: stored(0, 1),
        pages: stored(1, 1),
        place: stored(2, 2),
      },
    });
    const head = new TextEncoder().encode(text);
    const block = new Uint8Array([head.length & 255, head.length >> 8, 0, 0, ...head, ...columns]);
    const query = { structure: 7, instance: -1, first: 5, end: 7, phases: null, lines: false };
    const { matrix } = pageWindow(readWindow(block), query, { threads: 2, length: 100 });
    expect([...matrix.start]).toEqual([5, 6]);
    expect(matrix.length).toBe(100);
    expect([...matrix.accesses.rowBegin]).toEqual([0, 1, 2]);
    expect([...matrix.accesses.writes]).toEqual([0, 9]);
    expect([...matrix.firstTouches.rowBegin]).toEqual([0, 0, 2]);
    // In memory lines: thread 0 has none on its page.
    const lines = pageWindow(
      readWindow(block),
      { ...query, lines: true },
      { threads: 2, length: 100 },
    );
    expect([...lines.matrix.accesses.rowBegin]).toEqual([0, 0, 1]);
    expect([...lines.matrix.accesses.reads]).toEqual([2]);
    expect([...lines.matrix.accesses.writes]).toEqual([1]);
  });
});
