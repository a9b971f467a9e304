// SPDX-License-Identifier: Apache-2.0
import type { ComparedFinding, Comparison } from "../../data/comparison";
import { clip } from "../findings/standing-out";
import { Sentence } from "../elements/sentence";

interface Props {
  comparison: Comparison;
  onOpen: (row: number) => void;
}

const LISTS = [
  ["gone", "Gone: only in A", "better"],
  ["new", "New: only in B", "worse"],
  ["kept", "In both runs", ""],
] as const;

/** The findings that need a fix: gone, new, and in both runs. */
export function ComparisonFindings({ comparison, onOpen }: Props) {
  return (
    <section aria-labelledby="findings">
      <h2 id="findings">Findings</h2>
      <div class="finding-lists">
        {LISTS.map(([key, title, tone]) => (
          <section key={key} class={tone} aria-label={title}>
            <h3>{title}</h3>
            <List findings={comparison.findings[key]} onOpen={onOpen} />
          </section>
        ))}
      </div>
    </section>
  );
}

function List({ findings, onOpen }: { findings: ComparedFinding[]; onOpen: Props["onOpen"] }) {
  if (findings.length === 0) return <p class="none-found">none</p>;
  const kinds = new Map<string, ComparedFinding[]>();
  findings.forEach((one) => kinds.set(one.kind, [...(kinds.get(one.kind) ?? []), one]));
  return (
    <ul>
      {[...kinds].map(([kind, alike]) => (
        <li key={kind}>
          <span class="verdict">{kind}</span>{" "}
          {alike.map((finding, i) => (
            <Name key={i} finding={finding} last={i === alike.length - 1} onOpen={onOpen} />
          ))}
          <details>
            <summary>Cause and fix</summary>
            {alike.map((finding, i) => (
              <Reason key={i} finding={finding} />
            ))}
          </details>
        </li>
      ))}
    </ul>
  );
}

interface NameProps {
  finding: ComparedFinding;
  last: boolean;
  onOpen: Props["onOpen"];
}

function Name({ finding: { name, row }, last, onOpen }: NameProps) {
  if (!name) return <>the whole run</>;
  return (
    <>
      {row >= 0 ? (
        <button type="button" class="link" onClick={() => onOpen(row)}>
          <bdi>{clip(name)}</bdi>
        </button>
      ) : (
        <bdi>{clip(name)}</bdi>
      )}
      {!last && ", "}
    </>
  );
}

function Reason({ finding: { name, why, advice } }: { finding: ComparedFinding }) {
  return (
    <p>
      {name && (
        <>
          <bdi>{clip(name)}</bdi>:{" "}
        </>
      )}
      {why} <Sentence text={advice[0] ?? ""} />
    </p>
  );
}
