// SPDX-License-Identifier: Apache-2.0
import type { Run } from "../../data/report";
import { accessPixel, accessRamp, lowestOfLog, ticksOfLog } from "../../draw/colour";
import type { Scale, Theme } from "../../model/page-state";
import { fillPixels } from "../../draw/surface";
import type { Surface } from "../../draw/surface";
import { unitOf } from "../../model/counting";
import * as show from "../../model/format";
import type { Measure } from "../../model/matrix";
import { Canvas } from "./canvas";

interface Props {
  largest: number;
  /** Larger values have the last colour. */
  clipped: boolean;
  measure: Measure;
  scale: Scale;
  theme: Theme;
  run: Run;
}

export function Legend({ largest, clipped, measure, scale, theme, run }: Props) {
  const low = scale === "log" ? lowestOfLog(largest) : 0;
  return (
    <div class="legend">
      <span class="none" /> none
      <span>{low === 0 ? "> 0" : show.short(low)}</span>
      <span class="ramp">
        <Canvas
          class="gradient"
          role="img"
          aria-label={`Colour scale, ${scale}`}
          inputs={[theme]}
          draw={(surface) => drawRamp(surface, theme)}
        />
        {scale === "log" && <LogTicks largest={largest} />}
      </span>
      <span>
        {clipped && "≥ "}
        {show.short(largest)} {unitOf(run, measure)} per page of {show.bytes(run.page_size)}
      </span>
    </div>
  );
}

/** Numbers below the colours of a logarithmic scale. */
export function LogTicks({ largest }: { largest: number }) {
  return (
    <>
      {ticksOfLog(largest).map(({ value, at }) => (
        <span class="tick" style={{ left: `${(100 * at).toFixed(1)}%` }}>
          {show.short(value)}
        </span>
      ))}
    </>
  );
}

export function drawRamp({ context, width, height }: Surface, theme: Theme): void {
  const ramp = accessRamp(theme);
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let x = 0; x < width; x++) {
    const colour = accessPixel(ramp, x / Math.max(1, width - 1));
    fillPixels(pixels, width, [x, x + 1], [0, height], colour);
  }
  context.putImageData(image, 0, 0);
}
