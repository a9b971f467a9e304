// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useRef } from "preact/hooks";
import type { SourceWindow } from "../../data/report";
import * as show from "../../model/format";
import { estimatedShare, lineSums } from "../../model/source-lines";
import type { FunctionUse, Stretch, Uses } from "../../model/source-lines";
import { EditorLink, OpenInEditor } from "./editor-link";

interface Props {
  window: SourceWindow;
  chosen: Stretch;
  functions: FunctionUse[];
  total: Uses;
}

/** A stretch of source with the lines' shares in the margin, scrolled to what was chosen. */
export function SourceText({ window, chosen, functions, total }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const sums = lineSums(functions, window.file);
  const all = Math.max(1, total.reads + total.writes);
  useLayoutEffect(() => {
    const line = frame.current?.querySelector<HTMLElement>("tr.chosen");
    if (line && frame.current) frame.current.scrollTop = Math.max(0, line.offsetTop - 60);
  }, [window, chosen.first, chosen.last]);
  return (
    <div class="source">
      <div class="source-head">
        <p class="origin">
          <bdi>{window.file.slice(-200)}</bdi>
        </p>
        <OpenInEditor file={window.file} line={chosen.first} />
      </div>
      <div class="source-frame" ref={frame} tabIndex={0} role="region" aria-label="Source text">
        <table>
          <thead class="unseen-caption">
            <tr>
              <th scope="col">Share</th>
              <th scope="col">Line</th>
              <th scope="col">Text</th>
            </tr>
          </thead>
          <tbody>
            {window.text.map((text, i) => {
              const line = window.first + i;
              return (
                <Line
                  key={line}
                  {...{ file: window.file, line, text, all }}
                  uses={sums.get(line)}
                  isChosen={chosen.first <= line && line <= chosen.last}
                />
              );
            })}
          </tbody>
        </table>
      </div>
    </div>
  );
}

interface LineProps {
  file: string;
  line: number;
  text: string;
  uses: Uses | undefined;
  /** Accesses of all functions that use the structure. */
  all: number;
  isChosen: boolean;
}

function Line({ file, line, text, uses, all, isChosen }: LineProps) {
  const share = uses && (uses.reads + uses.writes) / all;
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <td class="number" title={uses && toldUses(uses)}>
        {uses && (
          <>
            <span class="heat" style={{ width: `${100 * share!}%` }} />
            <span>
              {estimatedShare(uses) > 0 && "≈ "}
              {show.share(share!)}
            </span>
          </>
        )}
      </td>
      <td class="number line-number">
        <EditorLink file={file} line={line} focusable={false}>
          {line}
        </EditorLink>
      </td>
      <td class="text">
        <bdi>{text}</bdi>
      </td>
    </tr>
  );
}

/** In words, for a tooltip. */
export function toldUses(uses: Uses): string {
  const counts = `${show.count(uses.reads)} reads, ${show.count(uses.writes)} writes`;
  const share = estimatedShare(uses);
  return share > 0 ? `${counts}; ${show.share(share)} of them estimated from samples` : counts;
}
