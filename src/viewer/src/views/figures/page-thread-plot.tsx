// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Surface } from "../../draw/surface";
import { GroupLines, ThreadAxis } from "./axes";
import { Canvas } from "../elements/canvas";
import { linesOf } from "./figure-data";
import type { FigureData } from "./figure-data";
import { pointIn } from "../page/navigation";
import type { Navigation, PlotPoint } from "../page/navigation";
import { useChangePage, usePageState } from "../page/page-state";

export interface Cursor extends PlotPoint {
  /** Position on the screen. */
  clientX: number;
  clientY: number;
}

interface Props {
  name: string;
  label: string;
  height: number;
  data: FigureData;
  navigation: Navigation;
  cursor: Cursor | undefined;
  onCursor: (cursor: Cursor | undefined) => void;
  draw: (surface: Surface) => void;
  drawRows: (surface: Surface) => void;
  inputs: readonly unknown[];
  /** Whether threads can be chosen for comparison. */
  selectable: boolean;
}

/** Thread axis, map, and bars per thread: one row of the figures' grid. */
export function PageThreadPlot(props: Props) {
  const { data, navigation, cursor, onCursor, inputs } = props;
  const { view } = navigation;
  const { groupA, groupB } = usePageState("groupA", "groupB");
  const change = useChangePage();
  const { groups, rows } = data.arrangement;
  const size = useMemo(() => ({ height: `${props.height}px` }), [props.height]);
  const marked = [
    { name: "A" as const, lines: linesOf(groupA, data.arrangement) },
    { name: "B" as const, lines: linesOf(groupB, data.arrangement) },
  ];
  const compare = (first: number, last: number, second: boolean) => {
    const chosen = [...rows.subarray(first, last + 1)].sort((a, b) => a - b);
    change(second ? { groupB: chosen } : { groupA: chosen });
  };
  return (
    <>
      <ThreadAxis
        view={view}
        threads={data.threads}
        groups={groups}
        height={props.height}
        marked={marked}
        onSelect={props.selectable ? compare : undefined}
      />
      <div
        class={`plot ${props.name}`}
        style={size}
        {...navigation.pointer}
        {...cursorHandlers(navigation, onCursor)}
      >
        <Canvas
          class={props.name}
          role="img"
          aria-label={props.label}
          inputs={inputs}
          draw={props.draw}
        />
        <GroupLines groups={groups} view={view} />
        {cursor && (
          <span class="crosshair across not-saved" style={{ left: `${cursor.x * 100}%` }} />
        )}
        {cursor && <span class="crosshair down not-saved" style={{ top: `${cursor.y * 100}%` }} />}
        {navigation.brush && <BrushBox {...navigation.brush} />}
      </div>
      <div class="row-bars" style={size}>
        <Canvas aria-hidden="true" inputs={inputs} draw={props.drawRows} />
      </div>
    </>
  );
}

/** Reports the position of the pointer, in addition to zooming and panning. */
export function cursorHandlers(
  { pointer }: Navigation,
  onCursor: (cursor: Cursor | undefined) => void,
) {
  return {
    onPointerMove: (event: PointerEvent) => {
      pointer.onPointerMove(event);
      const { clientX, clientY } = event;
      onCursor({ ...pointIn(event), clientX, clientY });
    },
    onPointerLeave: () => onCursor(undefined),
  };
}

export function BrushBox({ from, to }: { from: PlotPoint; to: PlotPoint }) {
  const style = {
    left: `${Math.min(from.x, to.x) * 100}%`,
    top: `${Math.min(from.y, to.y) * 100}%`,
    width: `${Math.abs(to.x - from.x) * 100}%`,
    height: `${Math.abs(to.y - from.y) * 100}%`,
  };
  return <span class="brush not-saved" style={style} />;
}
