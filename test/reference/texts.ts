// Slow, obvious masses of failed texts: one cap for each asker, both kinds fading by half-lives.
import type { ScoringConfig } from "../../src/engine/config.ts";
import type { FoldAssessment } from "../../src/engine/reading.ts";
import { Masses } from "./masses.ts";

const DAY_SECONDS = 86_400;

interface Texts {
  /** By kind; as of `at` (whole seconds). */
  masses: [content: number, sources: number];
  at: number;
}

export class FailedTexts {
  readonly #config: ScoringConfig;
  readonly #askers: Masses;
  readonly #texts = new Map<string, Texts>();

  constructor(config: ScoringConfig) {
    this.#config = config;
    this.#askers = new Masses(config);
  }

  #kept(from: number, to: number): number {
    return 2 ** (-Math.max(0, to - from) / DAY_SECONDS / this.#config.half_life_long_days);
  }

  add({ agent, asker, kindIndex, assessedAtMs }: FoldAssessment): void {
    const c = this.#config;
    const seconds = Math.floor(assessedAtMs / 1000);
    const tau = c.half_life_long_days / Math.LN2;
    const room = this.#askers.take(`${agent}\n${asker}`, seconds, 1, c.asker_cap!, tau);
    this.#askers.book(1);
    if (room <= 0) return;
    const before = this.#texts.get(agent) ?? { masses: [0, 0], at: 0 };
    const at = Math.max(before.at, seconds);
    const masses = before.masses.map((mass, kind) => {
      const kept = Math.fround(mass * this.#kept(before.at, at));
      return kind === kindIndex ? Math.fround(kept + room * this.#kept(seconds, at)) : kept;
    }) as Texts["masses"];
    this.#texts.set(agent, { masses, at });
  }

  /** Both features of an agent; undefined where none of its texts has failed. */
  featuresOf(agent: string, nowMs: number): [number, number] | undefined {
    const texts = this.#texts.get(agent);
    if (texts === undefined) return undefined;
    const kept = this.#kept(texts.at, nowMs / 1000);
    const share = (mass: number) => (mass * kept) / (mass * kept + this.#config.asker_cap!);
    return [share(texts.masses[0]), share(texts.masses[1])];
  }
}
