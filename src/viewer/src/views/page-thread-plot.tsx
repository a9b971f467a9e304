// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Surface } from "../draw/surface";
import type { Thread } from "../data/report";
import { Canvas } from "./canvas";
import { ThreadAxis } from "./axes";
import { pointIn } from "./navigation";
import type { Navigation, Point } from "./navigation";

export interface Cursor extends Point {
  /** Position on the screen. */
  clientX: number;
  clientY: number;
}

interface Props {
  name: string;
  label: string;
  height: number;
  threads: Thread[];
  navigation: Navigation;
  cursor: Cursor | undefined;
  onCursor: (cursor: Cursor | undefined) => void;
  draw: (surface: Surface) => void;
  drawRows: (surface: Surface) => void;
  inputs: readonly unknown[];
}

/** Thread axis, map, and bars per thread: one row of the figures' grid. */
export function PageThreadPlot(props: Props) {
  const { navigation, cursor, onCursor, inputs } = props;
  const { onPointerMove } = navigation.pointer;
  const size = useMemo(() => ({ height: `${props.height}px` }), [props.height]);
  return (
    <>
      <ThreadAxis view={navigation.view} threads={props.threads} height={props.height} />
      <div
        class={`plot ${props.name}`}
        style={size}
        {...navigation.pointer}
        onPointerMove={(event) => {
          onPointerMove(event);
          const { clientX, clientY } = event;
          onCursor({ ...pointIn(event), clientX, clientY });
        }}
        onPointerLeave={() => onCursor(undefined)}
      >
        <Canvas
          class={props.name}
          role="img"
          aria-label={props.label}
          inputs={inputs}
          draw={props.draw}
        />
        {cursor && <span class="crosshair across" style={{ left: `${cursor.x * 100}%` }} />}
        {cursor && <span class="crosshair down" style={{ top: `${cursor.y * 100}%` }} />}
        {navigation.brush && <BrushBox {...navigation.brush} />}
      </div>
      <div class="row-bars" style={size}>
        <Canvas aria-hidden="true" inputs={inputs} draw={props.drawRows} />
      </div>
    </>
  );
}

function BrushBox({ from, to }: { from: Point; to: Point }) {
  const style = {
    left: `${Math.min(from.x, to.x) * 100}%`,
    top: `${Math.min(from.y, to.y) * 100}%`,
    width: `${Math.abs(to.x - from.x) * 100}%`,
    height: `${Math.abs(to.y - from.y) * 100}%`,
  };
  return <span class="brush" style={style} />;
}
