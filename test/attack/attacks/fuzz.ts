// Fuzzer of the HTTP face and of MessagePack: requests over every route of the OpenAPI document, what
// the schemas allow and what they do not, on both HTTP servers. Every reply is judged, the service
// has to stay and its memory flat. The requests of earlier failures come first.
import fc from "fast-check";
import type { Attack } from "../attack.ts";
import {
  figuresOfTally,
  Fuzzer,
  keepSeeds,
  keptSeeds,
  newTally,
  sentencesOf,
} from "../material/fuzzing.ts";
import { anyRequest, readApi } from "../material/requests.ts";
import { memoryMib } from "../stage.ts";

/** Requests drawn at a time, and connections that play them. */
const DRAWN = 400;
const CONNECTIONS = 4;
const SHORT_MS = 1200;
/** Growth after the first third, when caches and tables have been filled. */
const MORE_MIB_MAX = 250;

export const fuzz: Attack = {
  name: "fuzz",
  what: "drawn requests to every route: well-formed, with odd values, with damaged bytes",
  play: (stage) =>
    stage.watchedOnBoth(async (service) => {
      const key = await stage.makeKey(service, "fuzzer", ["admin"]);
      const api = readApi((await stage.ask(service, "/openapi.json")).text);
      const tally = newTally();
      const fuzzers = Array.from(
        { length: CONNECTIONS },
        () => new Fuzzer(service.url, key, api.codes, tally),
      );
      const requests = anyRequest(api);
      const lastsMs = stage.isShort ? SHORT_MS : stage.durationMs / 2;
      const startedAt = performance.now();
      let warmMib = 0;
      let next = keptSeeds();
      for (let round = 0; performance.now() - startedAt < lastsMs || round === 0; round++) {
        const share = (performance.now() - startedAt) / lastsMs;
        if (share < 1 / 3) warmMib = memoryMib(service.pid);
        next.push(...fc.sample(requests, { seed: stage.seed + round, numRuns: DRAWN }));
        await Promise.all(
          fuzzers.map(async (fuzzer, at) => {
            for (let index = at; index < next.length; index += CONNECTIONS) {
              await fuzzer.play(next[index]!);
            }
          }),
        );
        next = [];
      }
      for (const fuzzer of fuzzers) fuzzer.close();
      keepSeeds(tally.wrong);
      const broken = sentencesOf(tally);
      const moreMib = memoryMib(service.pid) - warmMib;
      if (moreMib > MORE_MIB_MAX) broken.push(`memory grew by ${Math.round(moreMib)} MiB`);
      return {
        broken,
        figures: { ...figuresOfTally(tally), memory_more_mib: Math.round(moreMib) },
      };
    }),
};
