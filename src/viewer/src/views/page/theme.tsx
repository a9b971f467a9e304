// SPDX-License-Identifier: Apache-2.0
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Theme } from "../../model/page-state";
import { useChangePage, usePageState } from "./page-state";
import { Segmented } from "../elements/segmented";

/** The theme that the reader chose, else that of the system. */
function useScreenTheme(): Theme {
  const { theme } = usePageState("theme");
  const dark = useMedia("(prefers-color-scheme: dark)");
  return theme ?? (dark ? "dark" : "light");
}

/** The theme to draw in, also set on the document; on paper always grey. */
export function useTheme(): Theme {
  const onScreen = useScreenTheme();
  const printing = useMedia("print");
  const theme = printing ? "grey" : onScreen;
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  return theme;
}

function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const media = window.matchMedia(query);
    const follow = () => setMatches(media.matches);
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, [query]);
  return matches;
}

export function ThemeChoice() {
  const change = useChangePage();
  return (
    <Segmented
      label="Page"
      options={[
        ["light", "light"],
        ["dark", "dark"],
        ["grey", "grey, for print"],
      ]}
      value={useScreenTheme()}
      onChange={(theme) => change({ theme })}
    />
  );
}
