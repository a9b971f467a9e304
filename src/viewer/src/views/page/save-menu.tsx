// SPDX-License-Identifier: Apache-2.0
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { writeAddress } from "../../model/page-state";
import { csvOf } from "../../model/csv";
import type { CsvTable } from "../../model/csv";
import { download, fileNameOf } from "../../saving/download";
import { pngOfSvg } from "../../saving/png";
import { svgOfElement, textOfSvg } from "../../saving/svg-of-element";
import { usePresentState } from "./page-state";

const SHOWN_MS = 4000;

interface Props {
  /** The title of the figure: over the saved picture, and in the files' names. */
  title: string;
  /** The figure's numbers, exact and unformatted. */
  table?: () => CsvTable;
  /** False if there is only a table. */
  picture?: boolean;
  /** A line below the title of the picture, such as the structure and the phases. */
  subtitle?: string;
}

/**
 * Takes a figure out of the page. Saves the nearest element around it that has the attribute
 * data-figure.
 */
export function SaveMenu(props: Props) {
  const { title, table, picture = true } = props;
  const [open, setOpen] = useState(false);
  const [said, setSaid] = useState("");
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  useClosing(root, open, setOpen);
  useEffect(() => {
    const timer = setTimeout(() => setSaid(""), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const close = (message: string) => {
    setOpen(false);
    setSaid(message);
    button.current?.focus();
  };
  const { savePng, saveSvg, saveCsv, copyLink } = useSaving(props, root, close);
  return (
    <div class="save-menu not-saved" ref={root}>
      <button
        type="button"
        class="quiet"
        ref={button}
        aria-expanded={open}
        aria-controls={id}
        aria-label={`Save: ${title}`}
        onClick={() => setOpen(!open)}
      >
        Save <span aria-hidden="true">▾</span>
      </button>
      <div class="choices" id={id} hidden={!open}>
        {picture && (
          <button type="button" onClick={() => void savePng()}>
            Picture (PNG)
          </button>
        )}
        {picture && (
          <button type="button" onClick={saveSvg}>
            Drawing (SVG)
          </button>
        )}
        {table && (
          <button type="button" onClick={saveCsv}>
            Numbers (CSV)
          </button>
        )}
        <button type="button" onClick={() => void copyLink()}>
          Copy link to this view
        </button>
      </div>
      <span class="said" role="status">
        {said}
      </span>
    </div>
  );
}

/** The actions of the menu; each calls `done` with a text about what it has done. */
function useSaving(
  { title, table, subtitle }: Props,
  root: { current: HTMLElement | null },
  done: (message: string) => void,
) {
  const state = usePresentState();
  const program = document.title.replace(/ · Numascape$/, "");
  const svg = () => {
    const figure = root.current!.closest<HTMLElement>("[data-figure]") ?? document.body;
    return svgOfElement(figure, { title, subtitle: subtitle ?? program });
  };
  const savePng = async () => {
    const blob = await pngOfSvg(svg());
    download(blob, fileNameOf([program, title], "png"), "image/png");
    done("Saved as PNG.");
  };
  const saveSvg = () => {
    download(textOfSvg(svg()), fileNameOf([program, title], "svg"), "image/svg+xml");
    done("Saved as SVG.");
  };
  const saveCsv = () => {
    download(csvOf(table!()), fileNameOf([program, title], "csv"), "text/csv");
    done("Saved as CSV.");
  };
  const copyLink = async () => {
    const link = `${location.href.split("#")[0]}#${writeAddress(state())}`;
    done((await copied(link)) ? "Link copied." : "The link is in the browser's address bar.");
  };
  return { savePng, saveSvg, saveCsv, copyLink };
}

/** Escape, and a click or the focus elsewhere, close the menu. */
function useClosing(
  root: { current: HTMLElement | null },
  open: boolean,
  setOpen: (open: boolean) => void,
): void {
  // A layout effect adds the listeners before the next key.
  useLayoutEffect(() => {
    if (!open) return;
    const elsewhere = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      setOpen(false);
      root.current?.querySelector("button")?.focus();
      event.stopPropagation();
    };
    const element = root.current!;
    document.addEventListener("pointerdown", elsewhere);
    document.addEventListener("focusin", elsewhere);
    element.addEventListener("keydown", onKeyDown);
    return () => {
      document.removeEventListener("pointerdown", elsewhere);
      document.removeEventListener("focusin", elsewhere);
      element.removeEventListener("keydown", onKeyDown);
    };
  }, [open]);
}

/** Pages opened from a file may have no clipboard; then the old command may still work. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
