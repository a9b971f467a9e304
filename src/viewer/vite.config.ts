// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";
import { viteSingleFile } from "vite-plugin-singlefile";

// One HTML file with script and style inside: Python embeds a trace's data into it.
export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: { target: "es2022", outDir: "dist", cssCodeSplit: false, assetsInlineLimit: 1 << 24 },
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  test: { include: ["test/**/*.test.ts"] },
});
