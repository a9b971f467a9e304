// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { unitOf } from "../../model/counting";
import type { Joint } from "../../model/joint";
import { PageAxis } from "../figures/axes";
import { DifferenceBands } from "../figures/difference-plot";
import type { NamedGroup } from "../figures/difference-plot";
import type { Navigation } from "../page/navigation";
import { usePageState } from "../page/page-state";
import { useWidth } from "../page/use-width";

interface Props {
  reports: [Report, Report];
  joint: Joint;
  names: [string, string];
  navigation: Navigation;
  theme: Theme;
}

/** By page: the accesses of all threads of A, those of B, and what one run has more. */
export function PageBands({ reports, joint, names, navigation, theme }: Props) {
  const { measure } = usePageState("measure");
  const [grid, width] = useWidth<HTMLDivElement>();
  const [a, b] = useMemo(
    () => [allOf(joint.a, names[0]), allOf(joint.b, names[1])] as const,
    [joint, names[0], names[1]],
  );
  const { run } = reports[0];
  return (
    <div class="figure-grid bands" ref={grid}>
      <DifferenceBands
        a={a}
        b={b}
        unit={unitOf(run, measure)}
        per="per page, by all threads"
        navigation={navigation}
        theme={theme}
        onCursor={() => undefined}
        axis={<PageAxis view={navigation.view} pageSize={run.page_size} width={width} />}
      />
    </div>
  );
}

/** All threads of a run as one group, whose accesses are added up. */
function allOf(matrix: Joint["a"], name: string): NamedGroup {
  return { matrix, name, threads: 1, lines: Array.from({ length: matrix.threads }, (_, i) => i) };
}
