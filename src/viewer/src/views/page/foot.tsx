// SPDX-License-Identifier: Apache-2.0
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** What keys, or actions of the pointer, do. */
export interface HelpList {
  entries: readonly (readonly [string, string])[];
  keys?: boolean;
}

interface Props {
  title?: string;
  /** The keys of this page only; those of all pages follow. */
  help?: readonly HelpList[];
}

const EVERYWHERE: HelpList = {
  keys: true,
  entries: [
    ["Tab", "next control, table or figure"],
    ["← →  ↑ ↓", "scroll a wide or long table that has the focus"],
    ["?", "this help"],
    ["Esc", "close a menu, or this help"],
  ],
};

const SHOW = "numascape-show-help";

/** Shows the help of the page, as the key ? does. */
export function showHelp(): void {
  document.dispatchEvent(new Event(SHOW));
}

/** The end of each page: who wrote it, and the help, which the key ? opens anywhere in the page. */
export function Foot({ title = "Keys", help = [] }: Props) {
  const [open, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const show = () => setOpen(true);
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey) return;
      if ((event.target as HTMLElement).closest("input[type=text], input[type=search], dialog"))
        return;
      event.preventDefault();
      show();
    };
    document.addEventListener(SHOW, show);
    document.addEventListener("keydown", onKeyDown);
    return () => {
      document.removeEventListener(SHOW, show);
      document.removeEventListener("keydown", onKeyDown);
    };
  }, []);
  useEffect(() => {
    if (open && !dialog.current!.open) dialog.current!.showModal();
  }, [open]);
  return (
    <footer>
      Written by {generator()}. This page works offline: it loads nothing from other places.{" "}
      <button type="button" class="keys not-saved" onClick={showHelp}>
        Keys: <kbd>?</kbd>
      </button>
      <dialog
        class="help not-saved"
        ref={dialog}
        aria-labelledby="page-help"
        onClose={() => setOpen(false)}
        onKeyDown={(event) => event.stopPropagation()}
        onClick={(event) => event.target === dialog.current && dialog.current?.close()}
      >
        {open && (
          <>
            <h2 id="page-help">{title}</h2>
            {[...help, EVERYWHERE].map((list, i) => (
              <List key={i} {...list} />
            ))}
            <button type="button" class="quiet" onClick={() => dialog.current!.close()}>
              Close
            </button>
          </>
        )}
      </dialog>
    </footer>
  );
}

/** Numascape and its version, which Python writes into the head of the page. */
function generator(): string {
  return document.querySelector<HTMLMetaElement>("meta[name=generator]")?.content ?? "Numascape";
}

function List({ entries, keys }: HelpList) {
  return (
    <dl>
      {entries.map(([action, effect]) => (
        <div key={action}>
          <dt>{keys ? <Keys of={action} /> : action}</dt>
          <dd>{effect}</dd>
        </div>
      ))}
    </dl>
  );
}

function Keys({ of }: { of: string }) {
  return (
    <>
      {of.split(/\s+/).map((key) => (
        <Fragment key={key}>
          <kbd>{key}</kbd>{" "}
        </Fragment>
      ))}
    </>
  );
}
