// SPDX-License-Identifier: Apache-2.0
import type { Report } from "../../data/report";
import { counting, knowsThreads, seesAccesses, wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import { HUGE_PAGE } from "../../model/page-unit";
import type { PageUnit, ThreadOrder } from "../../model/page-state";
import { CompareControls } from "./compare-controls";
import { CountSwitch } from "./count-choice";
import type { Navigation } from "../page/navigation";
import { useChangePage, usePageState } from "../page/page-state";
import { Segmented } from "../elements/segmented";

interface Props {
  report: Report;
  position: number;
  navigation: Navigation;
  onHelp: () => void;
}

export const ORDERS: readonly (readonly [ThreadOrder, string])[] = [
  ["number", "by number"],
  ["node", "by node"],
  ["sharing", "by shared pages"],
];

export function FigureToolbar({ report, position, navigation, onHelp }: Props) {
  const { order, pageUnit } = usePageState("order", "pageUnit");
  const seen = seesAccesses(report.run);
  const change = useChangePage();
  const units = pageUnits(report.run.page_size);
  return (
    <div class="toolbar not-saved">
      <CountSwitch report={report} />
      {seen && <AccessChoices report={report} />}
      {knowsThreads(report.run) && (
        <Segmented
          label="Threads"
          options={seen ? ORDERS : ORDERS.filter(([order]) => order !== "sharing")}
          value={order}
          onChange={(value) => change({ order: value })}
        />
      )}
      <Segmented
        label="Pages of"
        options={units}
        value={units.some(([unit]) => unit === pageUnit) ? pageUnit : units[0]![0]}
        onChange={(value) => change({ pageUnit: value })}
      />
      <InstanceChoice report={report} position={position} />
      {seen && report.threads.length > 1 && <CompareControls threads={report.threads} />}
      <ZoomButtons navigation={navigation} onHelp={onHelp} />
    </div>
  );
}

interface ZoomProps {
  navigation: Navigation;
  /** Absent: there is no help. */
  onHelp?: () => void;
}

export function ZoomButtons({ navigation, onHelp }: ZoomProps) {
  return (
    <div class="zoom" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom in" onClick={() => navigation.zoomBy(0.5)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" onClick={() => navigation.zoomBy(2)}>
        −
      </button>
      <button type="button" disabled={navigation.whole} onClick={navigation.reset}>
        whole structure
      </button>
      {onHelp && (
        <button type="button" aria-label="Help: keys and pointer" onClick={onHelp}>
          ?
        </button>
      )}
    </div>
  );
}

/** The choices of what the colours of the access distribution show. */
export function AccessChoices({ report }: { report: Report }) {
  const { measure, scale } = usePageState("measure", "scale");
  const lines = counting(report.run) === "memory lines";
  const change = useChangePage();
  return (
    <>
      {knowsThreads(report.run) && (
        <Segmented
          label={lines ? "Lines" : "Accesses"}
          options={[
            ["both", "both"],
            ["reads", lines ? "from memory" : "reads"],
            ["writes", lines ? "to memory" : "writes"],
          ]}
          value={measure}
          onChange={(value) => change({ measure: value })}
        />
      )}
      <Segmented
        label="Scale"
        options={[
          ["linear", "linear"],
          ["log", "logarithmic"],
        ]}
        value={scale}
        onChange={(value) => change({ scale: value })}
      />
    </>
  );
}

/** The machine's page size is offered only if it differs from both other sizes. */
function pageUnits(counted: number): readonly (readonly [PageUnit, string])[] {
  const own = show.bytes(counted);
  if (counted === 4096) {
    return [
      ["4k", own],
      ["2m", show.bytes(HUGE_PAGE)],
    ];
  }
  return counted < HUGE_PAGE
    ? [
        ["machine", `${own}, the machine's`],
        ["2m", show.bytes(HUGE_PAGE)],
      ]
    : [["machine", own]];
}

/** Instances of a structure one by one, or summed; nothing where there is one only. */
function InstanceChoice({ report, position }: { report: Report; position: number }) {
  const change = useChangePage();
  const { structures } = report;
  const shown = structures[position]!;
  const parent = shown.parent >= 0 ? shown.parent : position;
  const whole = structures[parent]!;
  const own = structures.filter((entry) => entry.parent === parent);
  if (own.length === 0) return null;
  const all = Math.max(1, whole.reads + whole.writes);
  const what = seesAccesses(report.run) ? `the ${wordsOf(report.run).all}` : "the pages";
  return (
    <label class="instances">
      Instance
      <select
        value={String(shown.instance)}
        onChange={(event) => change({ instance: Number(event.currentTarget.value) })}
      >
        <option value="-1">all {show.count(whole.instances)}, summed</option>
        {own.map(({ instance, reads, writes, size }) => (
          <option key={instance} value={String(instance)}>
            {instance}: {show.share((reads + writes) / all)} of {what}, {show.bytes(size)}
          </option>
        ))}
      </select>
      {own.length < whole.instances && (
        <span>the {show.count(own.length)} most used can be seen alone</span>
      )}
    </label>
  );
}
