// SPDX-License-Identifier: Apache-2.0
import type { Report, Structure } from "../data/report";
import * as show from "../model/format";
import { standingOut } from "../model/standing-out";
import type { Group } from "../model/standing-out";
import { where } from "./structure-table";

interface Props {
  report: Report;
  onOpen: (position: number) => void;
}

/** What to look at first, as cards; a click on one opens its first structure. */
export function StandingOut({ report, onOpen }: Props) {
  const { structures, run } = report;
  const whole = structures.filter(({ instance }) => instance < 0);
  const groups = standingOut(whole, run.reads + run.writes);
  return (
    <section class="standing-out" aria-labelledby="standing-out">
      <h2 id="standing-out">Look here first</h2>
      {groups.length === 0 ? (
        <p class="prose">
          Nothing stands out: hardly any access goes to pages that another thread touched first. Pin
          the threads so that it stays that way.
        </p>
      ) : (
        <ol class="cards">
          {groups.map((group) => (
            <Card
              key={group.verdict + group.advice}
              group={group}
              structures={whole}
              onOpen={onOpen}
            />
          ))}
        </ol>
      )}
    </section>
  );
}

interface CardProps {
  group: Group;
  structures: Structure[];
  onOpen: (position: number) => void;
}

function Card({ group, structures, onOpen }: CardProps) {
  const { verdict, advice, positions, stake } = group;
  const first = structures[positions[0]!]!;
  return (
    <li class="card">
      <div class="card-head">
        <p class="figure-number">{show.share(stake)}</p>
        <p class="figure-label">of all accesses go to pages that another thread touched first</p>
      </div>
      <h3>
        <Names structures={structures} positions={positions} onOpen={onOpen} />
      </h3>
      <p class="card-origin">
        <span class="verdict">{verdict}</span>{" "}
        {where(first) && (
          <span class="origin">
            {first.kind === "heap" ? "allocated at " : ""}
            <bdi>{where(first)}</bdi>
          </span>
        )}
      </p>
      <dl>
        <dt>Why</dt>
        {first.reading.see.slice(-1).map((sentence) => (
          <dd key={sentence}>
            {positions.length > 1 && <bdi>{clip(first.name)}: </bdi>}
            {sentence}
          </dd>
        ))}
        <dt>What to do</dt>
        <dd>{advice}</dd>
      </dl>
    </li>
  );
}

const MOST_NAMES = 3;

interface NamesProps {
  structures: Structure[];
  positions: number[];
  onOpen: (position: number) => void;
}

/** The first name's button covers the card. */
function Names({ structures, positions, onOpen }: NamesProps) {
  const rest = positions.length - MOST_NAMES;
  return (
    <>
      {positions.slice(0, MOST_NAMES).map((position, i) => (
        <>
          {i > 0 && ", "}
          <button
            type="button"
            class={i === 0 ? "link covering" : "link"}
            key={position}
            onClick={() => onOpen(position)}
          >
            <bdi>{clip(structures[position]!.name)}</bdi>
          </button>
        </>
      ))}
      {rest > 0 && <span class="rest"> and {rest} more</span>}
    </>
  );
}

/** Names are shown in full in the structure's own section. */
export function clip(name: string, most = 60): string {
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}
