// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import * as show from "../src/model/format";

test("only a share of 1 is shown as 100 %, and only a share of 0 as 0 %", () => {
  const plain = (value: number) => show.percent(value).replaceAll(/\s/g, " ");
  expect([0.8, 0.014, 0.995, 1].map(plain)).toEqual(["80 %", "1 %", "99.5 %", "100 %"]);
  expect([0.99951, 0.9993, 0.0042, 0.00001, 0].map(plain)).toEqual([
    "> 99.9 %",
    "99.9 %",
    "0.42 %",
    "< 0.01 %",
    "0 %",
  ]);
});

test("a number of a sentence stays on one line with its per cent sign", () => {
  expect(show.keepPercentsTogether("98 % of 63 threads, 2.5 %")).toBe(
    "98\u202f% of 63 threads, 2.5\u202f%",
  );
});
