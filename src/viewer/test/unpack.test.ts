// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { parseBlock, unpackColumn } from "../src/data/unpack";

describe("columns", () => {
  it("are put together from byte planes, lowest first", () => {
    const planes = Uint8Array.of(9, 1, 2, 3, 4, 5, 6);
    const values = unpackColumn(planes, { at: 1, length: 3, bytes: 2, delta: false });
    expect([...values]).toEqual([1 + 256 * 4, 2 + 256 * 5, 3 + 256 * 6]);
  });

  it("are added up from zigzag differences", () => {
    // 10, 7, 7, 260: differences 10, -3, 0, 253 are written as 20, 5, 0, 506.
    const planes = Uint8Array.of(20, 5, 0, 506 & 255, 0, 0, 0, 1);
    const values = unpackColumn(planes, { at: 0, length: 4, bytes: 2, delta: true });
    expect([...values]).toEqual([10, 7, 7, 260]);
  });

  it("hold counts beyond 32 bits", () => {
    const planes = Uint8Array.of(5, 0, 0, 0, 0, 0, 16);
    const values = unpackColumn(planes, { at: 0, length: 1, bytes: 7, delta: false });
    expect([...values]).toEqual([2 ** 52 + 5]);
  });

  it("that reach beyond the data are refused", () => {
    const stored = { at: 4, length: 2, bytes: 1, delta: false };
    expect(() => unpackColumn(new Uint8Array(5), stored)).toThrow("incomplete");
  });
});

describe("reports", () => {
  const block = (json: object) => {
    const text = new TextEncoder().encode(JSON.stringify(json));
    const bytes = new Uint8Array(4 + text.length);
    new DataView(bytes.buffer).setUint32(0, text.length, true);
    bytes.set(text, 4);
    return bytes;
  };

  it("of another version are refused", () => {
    expect(() => parseBlock(block({ format: "numascape-report", version: 1 }))).toThrow(
      "version 2",
    );
    expect(() => parseBlock(block({ format: "other", version: 2 }))).toThrow("numascape-report");
  });
});
