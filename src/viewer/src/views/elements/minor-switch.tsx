// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";

interface Props {
  checked: boolean;
  onChecked: (checked: boolean) => void;
  /** What the switch shows, after "Also show". */
  children: ComponentChildren;
}

/** Shows rows that are hidden, because they matter little. */
export function MinorSwitch({ checked, onChecked, children }: Props) {
  return (
    <label class="switch folded-switch">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onChecked(event.currentTarget.checked)}
      />
      Also show {children}
    </label>
  );
}
