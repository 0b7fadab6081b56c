// The page and all that is chosen on it live behind `#` in the address, so that a link shows what its
// sender saw: `#/decisions?verdict=BLOCK`.
import { useCallback, useEffect, useMemo, useState } from "./html.ts";

export type PageParameters = Readonly<Record<string, string>>;

export interface PageLocation {
  /** Name of the page; empty for the first. */
  readonly page: string;
  readonly parameters: PageParameters;
}

/** Place that an address says. */
export function parsePlace(hash: string): PageLocation {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { page: path, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** Address of a page for `href`; parameters without a value are left out. */
export function linkTo(
  page: string,
  parameters: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== undefined && value !== "",
  );
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `#/${page}${given.length === 0 ? "" : `?${query}`}`;
}

/** The present place; the component is drawn again when it changes. */
export function usePageLocation(): PageLocation {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = () => setHash(location.hash);
    addEventListener("hashchange", onChange);
    // It may have changed since it was drawn, when nobody listened yet.
    onChange();
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return useMemo(() => parsePlace(hash), [hash]);
}

/**
 * Parameters of the page, and a function that changes some of them: undefined takes one away.
 * `isReplacing`: the step is not one to go back to, such as a letter typed.
 */
export function usePageParameters(): [
  PageParameters,
  (change: Readonly<Record<string, string | undefined>>, isReplacing?: boolean) => void,
] {
  const { parameters } = usePageLocation();
  const change = useCallback(
    (changed: Readonly<Record<string, string | undefined>>, isReplacing = false) => {
      const place = parsePlace(location.hash);
      const next = linkTo(place.page, { ...place.parameters, ...changed });
      if (!isReplacing) {
        location.hash = next;
        return;
      }
      history.replaceState(null, "", next);
      dispatchEvent(new Event("hashchange"));
    },
    [],
  );
  return [parameters, change];
}
