// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { isWhole, pan, select, whole, zoom } from "../src/model/viewport";

const extent = { width: 1000, height: 64 };
const all = whole(extent);

describe("viewport", () => {
  it("keeps the page under the pointer while zooming", () => {
    const view = zoom(all, extent, { x: 0.5, y: 1 }, { x: 200, y: 0 });
    expect(view).toEqual({ x0: 100, x1: 600, y0: 0, y1: 64 });
    expect((200 - view.x0) / (view.x1 - view.x0)).toBeCloseTo(0.2);
  });

  it("never leaves the structure", () => {
    expect(zoom(all, extent, { x: 9, y: 9 }, { x: 0, y: 0 })).toEqual(all);
    const part = { x0: 100, x1: 200, y0: 0, y1: 8 };
    expect(pan(part, extent, { x: -500, y: -9 })).toEqual({ x0: 0, x1: 100, y0: 0, y1: 8 });
    expect(pan(part, extent, { x: 5000, y: 500 })).toEqual({ x0: 900, x1: 1000, y0: 56, y1: 64 });
  });

  it("shows at least one page and one thread", () => {
    const view = zoom(all, extent, { x: 1e-9, y: 1e-9 }, { x: 500, y: 32 });
    expect(view.x1 - view.x0).toBe(1);
    expect(view.y1 - view.y0).toBe(1);
  });

  it("selects whole threads, in any direction of the drag", () => {
    const view = select(all, extent, { x: 0.5, y: 0.26 }, { x: 0.25, y: 0.2 });
    expect(view).toEqual({ x0: 250, x1: 500, y0: 12, y1: 17 });
  });

  it("knows when everything is visible", () => {
    expect(isWhole(all, extent)).toBe(true);
    expect(isWhole({ ...all, x0: 1 }, extent)).toBe(false);
    expect(isWhole(whole({ width: 0, height: 0 }), { width: 0, height: 0 })).toBe(true);
  });
});
