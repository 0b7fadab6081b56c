// Refusal of framework versions that lack a hook: they ignore the option that holds the gate, and run every
// tool without asking. The installed version is read from disk, since the adapters import no framework.
import { readInstalledVersion } from "../runtime.ts";

/** The hook that an adapter needs, and the versions that have it. */
export interface FrameworkHook {
  readonly packageName: string;
  /** Versions that were tested: `^major.minor.patch`, as npm reads it. */
  readonly range: string;
  /** Name of the option or callback that earlier versions ignore. */
  readonly option: string;
  /** What to use instead. */
  readonly advice: string;
}

/**
 * Passes when the installed version is within the range, or when it cannot be read: in browsers, on edge
 * workers, and where no such package is found.
 * @throws TypeError that names the version found and the range.
 */
export function assertFrameworkHook(
  { packageName, range, option, advice }: FrameworkHook,
  version = readInstalledVersion(packageName),
): void {
  if (version === undefined || isInCaretRange(version, range)) return;
  throw new TypeError(
    `\`${option}\` needs ${packageName} ${range}, but ${version} is installed, which may ignore it ` +
      `and run tools without a decision: ${advice}`,
  );
}

/** Whether npm would count `version` to a range `^major.minor.patch`. Prereleases count as their release. */
export function isInCaretRange(version: string, range: string): boolean {
  const found = splitVersion(version);
  const least = splitVersion(range.slice(1));
  // The first part that is not 0 stays the same.
  const fixed = least.findIndex((part) => part > 0);
  const differs = found.findIndex((part, at) => part !== least[at]);
  return differs === -1 || (differs > fixed && found[differs]! > least[differs]!);
}

function splitVersion(version: string): number[] {
  const [release = ""] = version.split(/[-+]/);
  return release.split(".").map(Number);
}
