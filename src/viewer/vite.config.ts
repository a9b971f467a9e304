// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { viteSingleFile } from "vite-plugin-singlefile";

/** Lets the page's Content-Security-Policy allow its own script, by its hash, and no other. */
function allowOwnScript(): Plugin {
  return {
    name: "allow-own-script",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const page = bundle["index.html"];
        if (page?.type !== "asset") throw new Error("the page is missing from the build");
        const html = String(page.source);
        const script = /<script type="module"[^>]*>([\s\S]*?)<\/script>/.exec(html)?.[1];
        if (script === undefined) throw new Error("the page has no script");
        const hash = createHash("sha256").update(script).digest("base64");
        page.source = html.replace("'own-script'", () => `'sha256-${hash}'`);
      },
    },
  };
}

// One HTML file with script and style inside: Python embeds a trace's data into it.
export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: { target: "es2022", outDir: "dist", cssCodeSplit: false, assetsInlineLimit: 1 << 24 },
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), allowOwnScript()],
  // The tests leave nothing behind in a module, so test files share threads and loaded modules.
  // On a busy machine, a test may take any time.
  test: {
    include: ["test/**/*.test.ts"],
    pool: "threads",
    isolate: false,
    testTimeout: 600_000,
  },
});
