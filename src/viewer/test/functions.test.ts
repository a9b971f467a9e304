// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const MAX_LINES = 60;

interface LongFunction {
  name: string;
  lines: number;
}

test("functions have at most 60 lines", () => {
  const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((path) =>
    /\.tsx?$/.test(path),
  );
  expect(sources.length).toBeGreaterThan(100);
  const found = sources.flatMap((path) =>
    longFunctions(path, readFileSync(join("src", path), "utf8")).map(({ name }) => [path, name]),
  );
  expect(found).toEqual([]);
});

test("functions, methods and arrow functions with more lines are found", () => {
  const body = (lines: number) => `{\n${"  work();\n".repeat(lines)}}`;
  const text = `
    function declared() ${body(61)}
    export const arrow = () => ${body(62)};
    class Methods { method() ${body(63)} }
    function short() ${body(60)}
  `;
  expect(longFunctions("text.tsx", text)).toEqual([
    { name: "declared", lines: 61 },
    { name: "arrow", lines: 62 },
    { name: "method", lines: 63 },
  ]);
});

/** Functions whose bodies have too many lines between their braces. */
function longFunctions(path: string, text: string): LongFunction[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: LongFunction[] = [];
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node): void => {
    const body = ts.isFunctionLike(node) && "body" in node ? node.body : undefined;
    if (body) {
      const lines = lineOf(body.end) - lineOf(body.getStart()) - 1;
      if (lines > MAX_LINES) found.push({ name: nameOf(node), lines });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function nameOf(node: ts.Node): string {
  const named = [node, node.parent].find(
    (one): one is ts.FunctionDeclaration | ts.VariableDeclaration => "name" in one,
  );
  return named?.name?.getText() ?? "a function without a name";
}
