// SPDX-License-Identifier: Apache-2.0
import { lab } from "d3-color";
import { describe, expect, it } from "vitest";
import {
  accessRamp,
  cssOf,
  intensity,
  lowestOfLog,
  pixel,
  threadColour,
  ticksOfLog,
} from "../src/draw/colour";

describe.each(["light", "dark"] as const)("colours on a %s page", (theme) => {
  it("change lightness steadily with the number of accesses", () => {
    const ramp = accessRamp(theme);
    const lightness = Array.from(ramp, (value) => lab(cssOf(value)).l);
    const sign = theme === "light" ? -1 : 1;
    for (let i = 8; i < lightness.length; i += 8) {
      expect(sign * (lightness[i]! - lightness[i - 8]!)).toBeGreaterThan(0);
    }
    expect(Math.abs(lightness[255]! - lightness[0]!)).toBeGreaterThan(50);
  });

  it("order threads from blue to yellow at equal lightness", () => {
    const colours = Array.from({ length: 16 }, (_, row) => lab(threadColour(row, 16, theme)));
    for (let i = 1; i < colours.length; i++) {
      expect(colours[i]!.b).toBeGreaterThan(colours[i - 1]!.b);
      expect(Math.abs(colours[i]!.l - colours[0]!.l)).toBeLessThan(12);
    }
  });
});

describe("intensity", () => {
  it("is 0 for nothing only", () => {
    for (const scale of ["linear", "log"] as const) {
      expect(intensity(0, 100, scale)).toBe(0);
      expect(intensity(100, 100, scale)).toBe(1);
      expect(intensity(250, 100, scale)).toBe(1);
    }
  });

  it("gives each factor of ten the same step when logarithmic", () => {
    const at = (value: number) => intensity(value, 1e4, "log");
    expect(lowestOfLog(1e4)).toBe(1);
    expect(at(1000) - at(100)).toBeCloseTo(at(100) - at(10));
  });
});

it("packs pixels as canvases want them", () => {
  expect(pixel("#010203")).toBe(0xff030201);
  expect(pixel("#ffffff", 0.5)).toBe(0x80ffffff);
});

describe("ticks of a logarithmic scale", () => {
  it.each([
    [67.2e6, [1e4, 1e6]],
    [1e6, [100, 1e4]],
    [2000, [100]],
    [500, []],
  ])("up to %d are powers of ten, far from its ends", (largest, values) => {
    expect(ticksOfLog(largest).map(({ value }) => value)).toEqual(values);
  });

  it("are where the colours of these values are", () => {
    for (const { value, at } of ticksOfLog(3.5e7)) {
      expect(at).toBeCloseTo(intensity(value, 3.5e7, "log"));
    }
  });
});
