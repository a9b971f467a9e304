// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import type { Theme } from "../draw/colour";

/** The system's light or dark until the reader chooses. */
export function useTheme(): [Theme, () => void] {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(system.matches);
  const [chosen, setChosen] = useState<Theme>();
  useEffect(() => {
    const follow = () => setDark(system.matches);
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, []);
  const theme = chosen ?? (dark ? "dark" : "light");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  return [theme, () => setChosen(theme === "dark" ? "light" : "dark")];
}
