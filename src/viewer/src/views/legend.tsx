// SPDX-License-Identifier: Apache-2.0
import { accessRamp, cssOf, lowestOfLog } from "../draw/colour";
import type { Scale, Theme } from "../draw/colour";
import * as show from "../model/format";

interface Props {
  largest: number;
  /** Larger values have the last colour. */
  clipped: boolean;
  scale: Scale;
  theme: Theme;
}

export function Legend({ largest, clipped, scale, theme }: Props) {
  const ramp = accessRamp(theme);
  const stops = Array.from({ length: 9 }, (_, i) => cssOf(ramp[Math.round((i / 8) * 255)]!));
  const low = scale === "log" ? lowestOfLog(largest) : 0;
  return (
    <div class="legend">
      <span class="none" /> none
      <span>{low === 0 ? "> 0" : show.short(low)}</span>
      <span
        class="gradient"
        role="img"
        aria-label={`Colour scale, ${scale}`}
        style={{ background: `linear-gradient(90deg, ${stops.join(", ")})` }}
      />
      <span>
        {clipped && "≥ "}
        {show.short(largest)} accesses per page
      </span>
    </div>
  );
}
