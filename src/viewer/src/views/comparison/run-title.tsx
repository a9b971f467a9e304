// SPDX-License-Identifier: Apache-2.0

/** The title above the figures of one run. */
export function RunTitle({ letter, name }: { letter: string; name: string }) {
  return (
    <p class="run-title">
      <b class={`group-letter ${letter[0]!.toLowerCase()}`}>{letter}</b> <bdi>{name}</bdi>
    </p>
  );
}
