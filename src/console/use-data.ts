// Data of a page: loaded when it is shown, again when what it depends on changes, or at an interval.
import { useCallback, useEffect, useRef, useState } from "./html.ts";

export interface LoadedData<Value> {
  /** The last answer, kept while the next is under way. */
  readonly value: Value | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

type DataLoader<Value> = (signal: AbortSignal) => Promise<Value>;

/** Loads when `deps` change; an answer that comes after the next was asked for is dropped. */
export function useData<Value>(
  load: DataLoader<Value>,
  deps: readonly unknown[],
): LoadedData<Value> {
  return useLoader(load, undefined, deps);
}

/** The same every `ms` while the tab is seen; no second request before the first is answered. */
export function usePolledData<Value>(
  load: DataLoader<Value>,
  ms: number,
  deps: readonly unknown[] = [],
): LoadedData<Value> {
  return useLoader(load, ms, deps);
}

interface DataState<Value> {
  readonly value: Value | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
}

function useLoader<Value>(
  load: DataLoader<Value>,
  everyMs: number | undefined,
  deps: readonly unknown[],
): LoadedData<Value> {
  const [state, setState] = useState<DataState<Value>>({
    value: undefined,
    error: undefined,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = async () => {
      try {
        const value = await latest.current(signal);
        if (!signal.aborted) setState({ value, error: undefined, isLoading: false });
      } catch (error) {
        if (signal.aborted) return;
        setState(({ value }) => ({ value, error: error as Error, isLoading: false }));
      }
      if (everyMs !== undefined && !signal.aborted) timer = setTimeout(again, everyMs);
    };
    const again = () => void (document.hidden ? (timer = setTimeout(again, everyMs)) : run());
    setState((before) => ({ ...before, isLoading: true }));
    void run();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [...deps, everyMs, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, reload };
}
