// SPDX-License-Identifier: Apache-2.0
import type { Policy } from "../../data/prediction";
import * as show from "../../model/format";
import { Wide } from "../elements/wide";

interface Props {
  policy: Policy;
  reference: Policy;
}

/** The predicted time of each phase, and what limits it; nothing where the run is one phase. */
export function PhaseTable({ policy, reference }: Props) {
  if (policy.phases.length < 2) return null;
  const before = new Map(reference.phases.map(({ name, seconds }) => [name, seconds]));
  return (
    <section aria-labelledby="policy-phases">
      <div class="heading">
        <h2 id="policy-phases">Phases</h2>
      </div>
      <Wide label="Phases">
        <table>
          <thead>
            <tr>
              <th scope="col">Phase</th>
              <th scope="col" class="number">
                <bdi>{reference.label}</bdi>
              </th>
              {policy !== reference && (
                <th scope="col" class="number">
                  <bdi>{policy.label}</bdi>
                </th>
              )}
              <th scope="col">Limited by</th>
            </tr>
          </thead>
          <tbody>
            {policy.phases.map(({ name, seconds, limit }, i) => (
              <tr key={i}>
                <th scope="row">
                  <bdi>{name}</bdi>
                </th>
                <td class="number">{secondsText(before.get(name))}</td>
                {policy !== reference && <td class="number">{show.seconds(seconds)}</td>}
                <td>{limit}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  );
}

function secondsText(seconds: number | undefined): string {
  return seconds === undefined ? "–" : show.seconds(seconds);
}
