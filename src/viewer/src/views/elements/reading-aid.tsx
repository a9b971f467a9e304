// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";

interface Props {
  /** The meaning of the figure's marks. */
  read: ComponentChildren;
  /** The advice. With `seen`, it is about what this run's figure shows. */
  act: ComponentChildren;
  seen?: boolean;
}

/** Explains each figure to readers without experience in NUMA tuning. */
export function ReadingAid({ read, act, seen = false }: Props) {
  return (
    <div class="aid not-saved">
      <div>
        <h3>How to read this</h3>
        {read}
      </div>
      <div>
        <h3>{seen ? "What to do here" : "What to do if"}</h3>
        {act}
      </div>
    </div>
  );
}
