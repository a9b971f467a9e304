// SPDX-License-Identifier: Apache-2.0
// Saves files from the page without any request.

const KEEP_URL_MS = 60_000;

export function download(content: Blob | string, name: string, type: string): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEEP_URL_MS);
}

/** A name that every file system takes: words of the parts, joined by hyphens. */
export function fileNameOf(parts: readonly string[], extension: string): string {
  const words = parts
    .map((part) => part.replace(/[^\p{L}\p{N}_.]+/gu, "-").replace(/^[-.]+|[-.]+$/g, ""))
    .filter(Boolean)
    .map((part) => part.slice(0, 60));
  return `${words.join("-") || "figure"}.${extension}`;
}
