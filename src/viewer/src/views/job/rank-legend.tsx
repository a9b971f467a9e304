// SPDX-License-Identifier: Apache-2.0
import { lowestOfLog } from "../../draw/colour";
import type { Scale, Theme } from "../../model/page-state";
import * as show from "../../model/format";
import type { RankMap } from "../../model/rank-map";
import { Canvas } from "../elements/canvas";
import { drawRamp } from "../elements/legend";

const UNITS = {
  accesses: "accesses",
  relative: "× the mean of the ranks",
  remote: "of the accesses are remote",
  threads: "× the mean of the rank's threads",
};

export function RankLegend({ map, scale, theme }: { map: RankMap; scale: Scale; theme: Theme }) {
  const { measure, largest } = map;
  const low = scale === "log" ? lowestOfLog(largest) : 0;
  const text = (value: number) => (measure === "remote" ? show.percent(value) : show.short(value));
  return (
    <div class="legend">
      <span>{low === 0 ? "0" : text(low)}</span>
      <Canvas
        class="gradient"
        role="img"
        aria-label={`Colour scale, ${scale}`}
        inputs={[theme]}
        draw={(surface) => drawRamp(surface, theme)}
      />
      <span>
        {text(largest)} {UNITS[measure]}
      </span>
    </div>
  );
}
