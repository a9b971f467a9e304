// SPDX-License-Identifier: Apache-2.0

/** Up and down arrows select the neighbouring row; `positions` are those of the rows. */
export function selectByKey(
  event: KeyboardEvent,
  positions: readonly number[],
  selected: number,
  onSelect: (position: number) => void,
): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const next = positions[positions.indexOf(selected) + step];
  if (next === undefined) return;
  event.preventDefault();
  onSelect(next);
  const table = event.currentTarget as HTMLElement;
  table.querySelector<HTMLElement>(`[data-position="${next}"] .name`)?.focus();
}
