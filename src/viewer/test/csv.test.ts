// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { csvOf } from "../src/model/csv";
import { fileNameOf } from "../src/saving/download";
import { printable } from "../src/saving/svg-of-element";

const lines = (rows: (string | number | null)[][]) =>
  csvOf({ columns: ["name", "value"], rows }).replace(/^\ufeff/, "");

describe("CSV", () => {
  it("follows RFC 4180", () => {
    expect(
      lines([
        ['a "b", c\nd', 1.5],
        ["plain", null],
      ]),
    ).toBe('name,value\r\n"a ""b"", c\nd",1.5\r\nplain,\r\n');
  });

  it.each(["=1+1", "+A1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1+1"])(
    "does not let a spreadsheet run %j",
    (name) => {
      const cell = lines([[name, 0]]).split("\r\n")[1]!;
      expect(cell.replace(/^"/, "").startsWith("'")).toBe(true);
    },
  );

  it("does not change negative numbers", () => {
    expect(lines([["a", -5]])).toContain("a,-5\r\n");
  });
});

describe("names of files", () => {
  it("have words only, and are not too long", () => {
    expect(fileNameOf(["../../etc/x", '</script>"*?'], "svg")).toBe("etc-x-script.svg");
    expect(fileNameOf(["Zähler", "x".repeat(10_000)], "csv").length).toBeLessThan(80);
    expect(fileNameOf(["", "///"], "png")).toBe("figure.png");
  });
});

describe("text in XML", () => {
  it("has no control characters and no halves of characters", () => {
    expect(printable("a\u0000\u001b[31m\ud800b😀\n")).toBe("a\ufffd\ufffd[31m\ufffdb😀\n");
  });
});
