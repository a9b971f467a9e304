// SPDX-License-Identifier: Apache-2.0
import type { Policy, Prediction } from "../../data/prediction";
import * as show from "../../model/format";
import { longest, policyTable } from "../../model/policies";
import { selectByKey } from "../elements/row-keys";
import { SaveMenu } from "../page/save-menu";
import { Wide } from "../elements/wide";

interface Props {
  prediction: Prediction;
  selected: number;
  onSelect: (policy: number) => void;
}

/** Each policy's time with its interval; the chosen one is shown below. */
export function PolicyTable({ prediction, selected, onSelect }: Props) {
  const { policies } = prediction;
  const end = longest(policies);
  const positions = policies.map((_, i) => i);
  return (
    <section aria-labelledby="policies">
      <div class="heading">
        <h2 id="policies">Policies</h2>
        <SaveMenu title="Predicted times" table={() => policyTable(prediction)} picture={false} />
      </div>
      <Wide>
        <table
          class="structures policies"
          aria-labelledby="policies"
          onKeyDown={(event) => selectByKey(event, positions, selected, onSelect)}
        >
          <thead>
            <tr>
              <th scope="col">Policy</th>
              <th scope="col" class="times">
                Time, with the interval
              </th>
              {["Time", "Interval", "Remote", "Seconds"].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
              <th scope="col">Limited by</th>
            </tr>
          </thead>
          <tbody>
            {policies.map((policy, i) => (
              <Row
                key={i}
                policy={policy}
                position={i}
                end={end}
                chosen={i === selected}
                onSelect={onSelect}
              />
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="how">
        Times are relative to the observed run (the line at 1). The interval is the range of the
        time when the assumptions of the model are varied. Remote: the share of the bytes from
        memory that come from another node.
      </p>
    </section>
  );
}

interface RowProps {
  policy: Policy;
  position: number;
  end: number;
  chosen: boolean;
  onSelect: (policy: number) => void;
}

function Row({ policy, position, end, chosen, onSelect }: RowProps) {
  const { label, relative, low, high, seconds, remote, limit, extra_bytes: extra } = policy;
  return (
    <tr aria-selected={chosen} data-position={position} onClick={() => onSelect(position)}>
      <th scope="row">
        <button type="button" class="name" title={label} aria-pressed={chosen}>
          <bdi>{label}</bdi>
        </button>
        {extra > 0 && <span class="origin">copies need {show.bytes(extra)} more memory</span>}
      </th>
      <td class="times">
        <Bar policy={policy} end={end} />
      </td>
      <td class="number">{relativeText(relative)}</td>
      <td class="number">
        {relativeText(low)} to {relativeText(high)}
      </td>
      <td class="number">{show.share(remote)}</td>
      <td class="number">{show.seconds(seconds)}</td>
      <td class={`limit ${policy.limit_kind}`}>{limit}</td>
    </tr>
  );
}

/** The time as a bar, the interval as a line across its end, and a mark at 1. */
function Bar({ policy: { relative, low, high }, end }: { policy: Policy; end: number }) {
  const at = (value: number | null) => `${(100 * Math.min(end, value ?? 0)) / end}%`;
  const width = `${(100 * Math.max(0, (high ?? 0) - (low ?? 0))) / end}%`;
  return (
    <span class="time-bar" aria-hidden="true">
      <span class="bar" style={{ width: at(relative) }} />
      <span class="one" style={{ left: at(1) }} />
      <span class="interval" style={{ left: at(low), width }} />
    </span>
  );
}

export function relativeText(value: number | null): string {
  return value === null ? "?" : value.toFixed(2);
}
