// SPDX-License-Identifier: Apache-2.0

/** Whether a click or a key adds to what is selected. */
export function isAdding(event: MouseEvent | KeyboardEvent): boolean {
  return event.shiftKey || event.ctrlKey || event.metaKey;
}
