// Stops in force for the session's tenant: read by every page, again after each change made here.
import { pollDocument } from "./api.ts";
import { useEffect } from "./html.ts";
import { type LoadedData, usePolledData } from "./use-data.ts";
import type { StopDescription } from "../contract/schemas/conditions.ts";

/** How long a stop set elsewhere stays unseen at most, while the tab is seen. */
const EVERY_MS = 15_000;
const CHANGED = "trustrank-stops-changed";
const PATH = "/v1/stop";

/** The bureau's stop, then the tenant's; empty: nothing is stopped. */
export function useStops(): LoadedData<readonly StopDescription[]> {
  const data = usePolledData(
    async (signal) => (await pollDocument<{ stops: StopDescription[] }>(PATH, signal)).stops,
    EVERY_MS,
  );
  useEffect(() => {
    addEventListener(CHANGED, data.reload);
    return () => removeEventListener(CHANGED, data.reload);
  }, [data.reload]);
  return data;
}

/** Makes every part of the page that shows stops read them again. */
export function reloadStops(): void {
  dispatchEvent(new Event(CHANGED));
}
