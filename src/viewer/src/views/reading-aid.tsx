// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";

interface Props {
  /** What the figure's marks mean. */
  read: ComponentChildren;
  /** Paragraphs: what to do if it looks like this. */
  act: ComponentChildren;
}

/** Below every figure, for a reader who has never tuned for NUMA. */
export function ReadingAid({ read, act }: Props) {
  return (
    <div class="aid">
      <div>
        <h4>How to read this</h4>
        {read}
      </div>
      <div>
        <h4>What to do if</h4>
        {act}
      </div>
    </div>
  );
}
