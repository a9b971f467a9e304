// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { EDITORS, editorAddress, isEditor } from "../src/model/editors";

describe("addresses of editors", () => {
  it("name the file and the line", () => {
    expect(editorAddress("vscode", "/src/a b.c", 7)).toBe("vscode://file/src/a%20b.c:7");
    expect(editorAddress("clion", "/src/a&line=1.c", 7)).toBe(
      "clion://open?file=/src/a%26line%3D1.c&line=7",
    );
    for (const [editor] of EDITORS) {
      expect(editorAddress(editor, "/a/x.c", 3)).toMatch(/^[a-z]+:\/\/[^ "<>]*3$/);
    }
  });

  it("need the folder and the line", () => {
    expect(editorAddress("zed", "a.c", 3)).toBeUndefined();
    expect(editorAddress("zed", "javascript:alert(1)", 3)).toBeUndefined();
    expect(editorAddress("zed", "/a.c", 0)).toBeUndefined();
  });

  it("are of known editors only", () => {
    expect(isEditor("idea")).toBe(true);
    expect(["constructor", "", null].some(isEditor)).toBe(false);
  });
});
