// SPDX-License-Identifier: Apache-2.0
// Addresses with which editors open a file at a line.

const ADDRESSES = {
  vscode: ["VS Code", (path: string, line: number) => `vscode://file${path}:${line}`],
  vscodium: ["VSCodium", (path: string, line: number) => `vscodium://file${path}:${line}`],
  zed: ["Zed", (path: string, line: number) => `zed://file${path}:${line}`],
  clion: ["CLion", (path: string, line: number) => `clion://open?file=${path}&line=${line}`],
  idea: ["IntelliJ IDEA", (path: string, line: number) => `idea://open?file=${path}&line=${line}`],
} as const;

export type Editor = keyof typeof ADDRESSES;

export const EDITORS = Object.entries(ADDRESSES).map(
  ([editor, [name]]) => [editor as Editor, name] as const,
);

export function isEditor(text: string | null): text is Editor {
  return text !== null && Object.hasOwn(ADDRESSES, text);
}

/** The address, or undefined if the folder of the file is not known. */
export function editorAddress(editor: Editor, file: string, line: number): string | undefined {
  if (!file.startsWith("/") || line < 1) return undefined;
  const path = file.split("/").map(encodeURIComponent).join("/");
  return ADDRESSES[editor][1](path, line);
}
