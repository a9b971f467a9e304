// SPDX-License-Identifier: Apache-2.0
import type { Report, Structure } from "../data/report";
import * as show from "../model/format";
import { standingOut } from "../model/standing-out";

export function StandingOut({ report, onOpen }: { report: Report; onOpen: (p: number) => void }) {
  const groups = standingOut(report.structures, report.run.reads + report.run.writes);
  return (
    <section aria-labelledby="standing-out">
      <h2 id="standing-out">Look here first</h2>
      {groups.length === 0 ? (
        <p class="prose">
          Nothing stands out: hardly any access goes to pages that another thread touched first. Pin
          the threads so that it stays that way.
        </p>
      ) : (
        <ol class="cards">
          {groups.map(({ verdict, advice, positions, stake }) => (
            <li key={verdict + advice} class="card">
              <p class="figure-number">{show.share(stake)}</p>
              <p class="figure-label">of all accesses go to pages another thread touched first</p>
              <h3>
                <span class="verdict">{verdict}</span>{" "}
                <Names structures={report.structures} positions={positions} onOpen={onOpen} />
              </h3>
              {report.structures[positions[0]!]!.reading.see.slice(-1).map((sentence) => (
                <p key={sentence}>
                  {positions.length > 1 && (
                    <bdi>{clip(report.structures[positions[0]!]!.name)}: </bdi>
                  )}
                  {sentence}
                </p>
              ))}
              <p class="advice">{advice}</p>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

const MOST_NAMES = 3;

interface NamesProps {
  structures: Structure[];
  positions: number[];
  onOpen: (position: number) => void;
}

function Names({ structures, positions, onOpen }: NamesProps) {
  const rest = positions.length - MOST_NAMES;
  return (
    <>
      {positions.slice(0, MOST_NAMES).map((position, i) => (
        <>
          {i > 0 && ", "}
          <button type="button" class="link" key={position} onClick={() => onOpen(position)}>
            <bdi>{clip(structures[position]!.name)}</bdi>
          </button>
        </>
      ))}
      {rest > 0 && ` and ${rest} more`}
    </>
  );
}

/** Names are shown in full in the structure's own section. */
export function clip(name: string, most = 60): string {
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}
