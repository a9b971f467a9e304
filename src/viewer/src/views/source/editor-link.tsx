// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useEffect, useReducer } from "preact/hooks";
import { EDITORS, editorAddress, isEditor } from "../../model/editors";
import type { Editor } from "../../model/editors";

const KEY = "numascape-editor";
const listeners = new Set<() => void>();
let chosen: Editor | undefined;

/** The editor that the reader chose on this or another page; a browser may not keep it. */
function keptEditor(): Editor {
  if (chosen) return chosen;
  try {
    const kept = localStorage.getItem(KEY);
    chosen = isEditor(kept) ? kept : undefined;
  } catch {
    // The browser keeps nothing for this page.
  }
  return (chosen ??= EDITORS[0]![0]);
}

function keep(editor: Editor): void {
  chosen = editor;
  try {
    localStorage.setItem(KEY, editor);
  } catch {
    // As above: the choice lasts as long as the page.
  }
  listeners.forEach((listener) => listener());
}

function useEditor(): Editor {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const listen = () => again(undefined);
    listeners.add(listen);
    return () => void listeners.delete(listen);
  }, []);
  return keptEditor();
}

interface Props {
  file: string;
  line: number;
  children: ComponentChildren;
  /** False: only for the pointer, so that the Tab key need not pass each line of a source. */
  focusable?: boolean;
}

/** Opens the line in the reader's editor; only text if the folder of the file is not known. */
export function EditorLink({ file, line, children, focusable = true }: Props) {
  const address = editorAddress(useEditor(), file, line);
  if (!address) return <>{children}</>;
  return (
    <a class="editor-link" href={address} rel="noreferrer" tabIndex={focusable ? 0 : -1}>
      {children}
    </a>
  );
}

/** A link for a place in the source, and the choice of the editor. */
export function OpenInEditor({ file, line }: Pick<Props, "file" | "line">) {
  const editor = useEditor();
  if (!editorAddress(editor, file, line)) return null;
  return (
    <span class="open-in-editor not-saved">
      <EditorLink file={file} line={line}>
        Open line {line}
      </EditorLink>{" "}
      in{" "}
      <select
        aria-label="Editor"
        value={editor}
        onChange={(event) => keep(event.currentTarget.value as Editor)}
      >
        {EDITORS.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </span>
  );
}
