// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "preact/hooks";

const KEYS: readonly (readonly [string, string])[] = [
  ["+  −", "zoom pages in and out"],
  ["]  [", "zoom threads in and out"],
  ["← →  ↑ ↓", "move over pages, over threads"],
  ["0  Home", "show the whole structure"],
  ["a  b", "compare the threads now visible: as group A, as group B"],
  ["c", "stop comparing"],
  ["o", "next order of threads"],
  ["m", "next: accesses, reads, writes; for memory lines: both, from memory, to memory"],
  ["n", "memory lines or accesses, if both were counted"],
  ["l", "linear or logarithmic colours"],
  ["?", "this help"],
];

const POINTER: readonly (readonly [string, string])[] = [
  [
    "Drag",
    "zoom to the selected part; a flat selection zooms pages only, a narrow one threads only",
  ],
  ["Shift and drag", "move"],
  ["Double-click", "show the whole structure"],
  ["Wheel", "zoom pages, with Shift threads; first click into the figures, or hold Ctrl"],
  ["Drag on thread numbers", "compare these threads (A); with Shift: with these (B)"],
];

interface Props {
  open: boolean;
  onClose: () => void;
}

export function FigureHelp({ open, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !dialog.current!.open) dialog.current!.showModal();
  }, [open]);
  return (
    <dialog
      class="help not-saved"
      ref={dialog}
      aria-labelledby="figure-help"
      onClose={onClose}
      onKeyDown={(event) => event.stopPropagation()}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      {open && (
        <>
          <h2 id="figure-help">Keys and pointer in the figures</h2>
          <p>Keys work when the figures have the focus. Click into them, or press Tab.</p>
          <List entries={KEYS} keys />
          <List entries={POINTER} />
          <button type="button" class="quiet" onClick={() => dialog.current!.close()}>
            Close
          </button>
        </>
      )}
    </dialog>
  );
}

function List({ entries, keys }: { entries: typeof KEYS; keys?: boolean }) {
  return (
    <dl>
      {entries.map(([action, effect]) => (
        <div key={action}>
          <dt>{keys ? action.split(/\s+/).map((key) => <kbd key={key}>{key}</kbd>) : action}</dt>
          <dd>{effect}</dd>
        </div>
      ))}
    </dl>
  );
}
