// Cores for the service and for who loads it. With four or more, the last is the generator's alone;
// with fewer both have all, and how late the generator was stands beside each figure.
import { availableParallelism } from "node:os";

export interface Placement {
  /** As taskset takes them; undefined: wherever the kernel puts it. */
  readonly generator: string | undefined;
  readonly runner: readonly string[];
  readonly words: string;
}

const CORES_APART = 4;
const LIST = /^\d+(?:[-,]\d+)*$/;

/** Of `auto`, `none`, or `GENERATOR:SERVICE` as in `3:0-2`. @throws Error for anything else. */
export function placementOf(text: string, cores = availableParallelism()): Placement {
  if (text === "none" || (text === "auto" && cores < CORES_APART)) {
    return { generator: undefined, runner: [], words: "not pinned" };
  }
  const given = text === "auto" ? `${cores - 1}:0-${cores - 2}` : text;
  const [generator = "", service = "", ...more] = given.split(":");
  if (!LIST.test(generator) || !LIST.test(service) || more.length > 0) {
    throw new Error(`--pin takes auto, none or GENERATOR:SERVICE as in 3:0-2, not \`${text}\``);
  }
  return {
    generator,
    runner: ["taskset", "-c", service],
    words: `generator on ${generator}, service on ${service}`,
  };
}
