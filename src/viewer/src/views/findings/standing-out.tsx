// SPDX-License-Identifier: Apache-2.0
import type { Finding, Report, Structure } from "../../data/report";
import * as show from "../../model/format";
import { Sentence, Sentences } from "../elements/sentence";
import { where } from "../structures/structure-table";

interface Props {
  report: Report;
  onOpen: (position: number) => void;
}

/** Findings shown as cards; further ones are a list that opens. */
const CARDS = 3;

/** Findings about the run that need no structure and no fix. */
const CONCLUSIONS = ["no NUMA problem", "no single cause", "too few samples"];

/** The findings, as cards; a click on one opens its first structure. */
export function StandingOut({ report, onOpen }: Props) {
  const { structures, findings } = report;
  const urgent = findings.filter((finding) => finding.to_do);
  const none = findings.find(
    ({ kind, structures: about }) => about === 0 && CONCLUSIONS.includes(kind),
  );
  return (
    <section class="standing-out" aria-labelledby="standing-out">
      <h2 id="standing-out">Look here first</h2>
      {none && <NoProblem finding={none} />}
      {!none && report.run.verdict && <p class="prose">{report.run.verdict}</p>}
      {urgent.length > 0 && (
        <ol class="cards">
          {urgent.slice(0, CARDS).map((finding, i) => (
            <Card key={i} finding={finding} structures={structures} onOpen={onOpen} />
          ))}
        </ol>
      )}
      {urgent.length > CARDS && (
        <details class="more-findings">
          <summary>
            {urgent.length - CARDS} more finding{urgent.length > CARDS + 1 && "s"}
          </summary>
          <ol class="cards">
            {urgent.slice(CARDS).map((finding, i) => (
              <Card key={i} finding={finding} structures={structures} onOpen={onOpen} />
            ))}
          </ol>
        </details>
      )}
      {findings
        .filter((finding) => !finding.to_do && finding !== none)
        .map((finding) => (
          <p class="well" key={finding.kind}>
            <span class="verdict well">{finding.kind}</span>{" "}
            <Names finding={finding} structures={structures} onOpen={onOpen} />
            {": "}
            <Sentence text={finding.advice[0] ?? ""} />
          </p>
        ))}
    </section>
  );
}

function NoProblem({ finding }: { finding: Finding }) {
  return (
    <div class="prose no-problem">
      <p>
        <Sentence text={finding.why} />
      </p>
      <Sentences texts={finding.advice} />
    </div>
  );
}

interface CardProps {
  finding: Finding;
  structures: Structure[];
  onOpen: (position: number) => void;
}

function Card({ finding, structures, onOpen }: CardProps) {
  const { kind, positions, number, label, why, advice } = finding;
  const first = positions.length > 0 ? structures[positions[0]!] : undefined;
  return (
    <li class="card">
      <div class="card-head">
        <p class="figure-number">{number}</p>
        <p class="figure-label">{show.keepPercentsTogether(label)}</p>
      </div>
      <h3>
        {first ? (
          <Names finding={finding} structures={structures} onOpen={onOpen} />
        ) : (
          "The whole run"
        )}
      </h3>
      <p class="card-origin">
        <span class="verdict">{kind}</span>{" "}
        {first && where(first) && (
          <span class="origin">
            {first.kind === "heap" ? "allocated at " : ""}
            <bdi>{where(first)}</bdi>
          </span>
        )}
      </p>
      <dl>
        <dt>Cause</dt>
        <dd>
          {first && positions.length > 1 && <bdi>{clip(first.name)}: </bdi>}
          <Sentence text={why} />
        </dd>
        <dt>Fix</dt>
        <dd>
          <Sentences texts={advice} />
        </dd>
      </dl>
      <Evidence finding={finding} />
    </li>
  );
}

function Evidence({ finding: { evidence, figure, confidence } }: { finding: Finding }) {
  return (
    <details class="evidence not-saved">
      <summary>
        Evidence. Confidence: {show.percent(confidence)}. Figure: {figure}
      </summary>
      <dl>
        {evidence.map(([what, value]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

const MAX_NAMES = 3;

/** The first name's button covers the card. */
function Names({ finding, structures, onOpen }: CardProps) {
  const rest = finding.structures - Math.min(MAX_NAMES, finding.positions.length);
  return (
    <>
      {finding.positions.slice(0, MAX_NAMES).map((position, i) => (
        <>
          {i > 0 && ", "}
          <button
            type="button"
            class={i === 0 && finding.to_do ? "link covering" : "link"}
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
