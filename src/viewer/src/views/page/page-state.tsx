// SPDX-License-Identifier: Apache-2.0
// The page's state for views. A view is drawn again only if a part that it uses has changed.

import { createContext } from "preact";
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { changed, readAddress, startOf, writeAddress } from "../../model/page-state";
import type { Extents, PageState } from "../../model/page-state";

export type ChangePage = (
  change: Partial<PageState> | ((state: PageState) => Partial<PageState>),
) => void;

interface Store {
  state: PageState;
  change: ChangePage;
  listeners: Set<(state: PageState) => void>;
}

const Context = createContext<Store | undefined>(undefined);

/** In ms. Browsers allow some 200 changes of the address in 30 s. */
const BETWEEN_ADDRESSES = 200;

interface Props {
  extents: Extents;
  children: ComponentChildren;
}

/** Starts with what the address says, and keeps the address up to date. */
export function PageStateProvider({ extents, children }: Props) {
  const store = useMemo(() => storeOf(extents), [extents]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = -Infinity;
    const write = () => {
      timer = undefined;
      last = performance.now();
      history.replaceState(null, "", `#${writeAddress(store.state)}`);
    };
    const later = () => {
      timer ??= setTimeout(write, Math.max(0, last + BETWEEN_ADDRESSES - performance.now()));
    };
    const follow = () => {
      const state = readAddress(location.hash, extents);
      // A link to another place of the page is followed, but does not contain a state.
      if (state) store.change(state);
      else later();
    };
    store.listeners.add(later);
    window.addEventListener("hashchange", follow);
    return () => {
      clearTimeout(timer);
      store.listeners.delete(later);
      window.removeEventListener("hashchange", follow);
    };
  }, [store]);
  return <Context.Provider value={store}>{children}</Context.Provider>;
}

function storeOf(extents: Extents): Store {
  const store: Store = {
    state: readAddress(location.hash, extents) ?? startOf(extents),
    listeners: new Set(),
    change: (change) => {
      const wanted = typeof change === "function" ? change(store.state) : change;
      store.state = changed(store.state, wanted);
      store.listeners.forEach((listener) => listener(store.state));
    },
  };
  return store;
}

function useStore(): Store {
  const store = useContext(Context);
  if (!store) throw new Error("a view is outside of PageStateProvider");
  return store;
}

/** The named parts of the state; the view draws again when one of them changes. */
export function usePageState<K extends keyof PageState>(...keys: K[]): Pick<PageState, K> {
  const store = useStore();
  const [, again] = useReducer((count: number) => count + 1, 0);
  const shown = useRef(store.state);
  shown.current = store.state;
  useEffect(() => {
    const listen = (state: PageState) => {
      if (keys.some((key) => state[key] !== shown.current[key])) again(undefined);
    };
    store.listeners.add(listen);
    // The state may have changed since the drawing.
    listen(store.state);
    return () => void store.listeners.delete(listen);
  }, [store]);
  return store.state;
}

export function useChangePage(): ChangePage {
  return useStore().change;
}

/** The current state, for actions that need it once: a link, a saved file. */
export function usePresentState(): () => PageState {
  const store = useStore();
  return () => store.state;
}
