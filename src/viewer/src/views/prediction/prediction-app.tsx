// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Prediction } from "../../data/prediction";
import type { Extents } from "../../model/page-state";
import { positionOf } from "../../model/page-state";
import { Brand } from "../overview/run-header";
import { Foot } from "../page/foot";
import { PageStateProvider, useChangePage, usePageState } from "../page/page-state";
import { useTheme } from "../page/theme";
import { PhaseTable } from "./phase-table";
import { PolicyTable } from "./policy-table";
import { PolicyTraffic } from "./policy-traffic";
import { StructureNodes } from "./structure-nodes";

const HELP = [
  { keys: true, entries: [["↑  ↓", "in the table: the policy above or below"]] },
] as const;

/** The address names the chosen policy in the field of the structure. */
export function PredictionApp({ prediction }: { prediction: Prediction }) {
  const extents = useMemo((): Extents => {
    const structures = prediction.policies.map((_, structure) => ({ structure }));
    return { structures, threads: 0, phases: 0, first: fastest(prediction) };
  }, [prediction]);
  return (
    <PageStateProvider extents={extents}>
      <Page prediction={prediction} policies={extents.structures} />
    </PageStateProvider>
  );
}

function fastest({ policies }: Prediction): number {
  const times = policies.map(({ relative }) => relative ?? Infinity);
  return Math.max(0, times.indexOf(Math.min(...times)));
}

interface Props {
  prediction: Prediction;
  policies: Extents["structures"];
}

function Page({ prediction, policies }: Props) {
  const theme = useTheme();
  const change = useChangePage();
  const selected = positionOf(usePageState("structure", "instance"), policies);
  const policy = prediction.policies[selected];
  const reference = prediction.policies[0];
  return (
    <div class="prediction">
      <a class="skip" href="#policy">
        Skip to the chosen policy
      </a>
      <Header prediction={prediction} />
      <main>
        <PolicyTable
          prediction={prediction}
          selected={selected}
          onSelect={(structure) => change({ structure })}
        />
        {policy && reference && (
          <>
            <PolicyTraffic machine={prediction.machine} policy={policy} reference={reference} />
            <StructureNodes
              prediction={prediction}
              policy={policy}
              reference={reference}
              theme={theme}
            />
            <PhaseTable policy={policy} reference={reference} />
          </>
        )}
      </main>
      <Foot help={HELP} />
    </div>
  );
}

function Header({ prediction }: { prediction: Prediction }) {
  const { program, file, command, threads, machine, conclusion, assumed } = prediction;
  return (
    <header class="run">
      <Brand />
      <h1>
        <bdi>{program}</bdi>, predicted on <bdi>{machine.name}</bdi>
      </h1>
      <p class="command">
        <bdi>{command}</bdi>
      </p>
      {conclusion && <p class="conclusion">{conclusion}</p>}
      <p class="prose">
        Predictions of a model, not measurements: <bdi>{file}</bdi>, {threads}{" "}
        {threads === 1 ? "thread" : "threads"}.
      </p>
      {assumed.length > 0 && (
        <ul class="cautions prose" aria-label="Assumptions">
          {assumed.map((sentence) => (
            <li key={sentence}>Assumed: {sentence}</li>
          ))}
        </ul>
      )}
    </header>
  );
}
