// Company of a load: what a service does besides answering. Outcomes at a rate, from a process of their
// own; one run of kaizen after another; an analyst who asks the documented queries in turn.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ADMIN_KEY, type ServerProcess } from "../server-process.ts";
import { type Generator, merged, msAt, startGenerator } from "./open-loop-client.ts";

export const KINDS = ["outcomes", "kaizen", "query"] as const;
export type Kind = (typeof KINDS)[number];

const QUERIES = fileURLToPath(new URL("../../examples/analyst", import.meta.url));
const CONNECTIONS = 10;
/** Longer than any phase: it is stopped. */
const SECONDS_MAX = 86_400;
/** A run of kaizen that takes longer is a failure of the bench. */
const RUN_MS_MAX = 1_800_000;
const POLL_MS = 100;
const AGENTS = 2000;

/** Counts of what was done; an error is whatever was not answered as it should be. */
export interface Done {
  readonly outcomes: number;
  readonly outcomes_p99_ms: number;
  readonly kaizen_runs: number;
  readonly queries: number;
  readonly errors: number;
}

const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };

/** One at a time; between `start` and `stop`. */
export class Company {
  readonly #service: ServerProcess;
  readonly #outcomesPerSecond: number;
  readonly #generator: Generator;
  readonly #queries: readonly string[];
  #work: Promise<unknown>[] = [];
  #failure: Error | undefined;
  #isOver = true;
  #number = 0;
  #done = { outcomes: 0, kaizen_runs: 0, queries: 0, errors: 0 };
  readonly #times: string[] = [];

  constructor(service: ServerProcess, outcomesPerSecond: number, cores?: string) {
    this.#service = service;
    this.#outcomesPerSecond = outcomesPerSecond;
    this.#generator = startGenerator(cores);
    const names = readdirSync(QUERIES).filter((name) => name.endsWith(".sql"));
    this.#queries = names.map((name) => readFileSync(path.join(QUERIES, name), "utf8"));
  }

  /** Resolves once all of it is under way. */
  async start(kinds: readonly Kind[]): Promise<void> {
    this.#isOver = false;
    this.#work = [];
    if (kinds.includes("outcomes")) this.#keep(this.#report());
    if (kinds.includes("kaizen")) this.#keep(this.#learn(await this.#startRun()));
    if (kinds.includes("query")) this.#keep(this.#ask());
  }

  /** Nobody waits for work under way: what becomes of it is told at the stop. */
  #keep(work: Promise<void>): void {
    this.#work.push(
      work.catch((error: unknown) => {
        this.#failure ??= error instanceof Error ? error : new Error(String(error));
      }),
    );
  }

  /** Resolves when the service has ended what it was given. @throws Error when it no longer answered. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.#generator.stop();
    await Promise.all(this.#work);
    this.#work = [];
    if (this.#failure !== undefined) throw this.#failure;
  }

  done(): Done {
    const times = merged(this.#times);
    return { ...this.#done, outcomes_p99_ms: this.#times.length === 0 ? 0 : msAt(times, 99) };
  }

  close(): Promise<void> {
    this.#isOver = true;
    return this.#generator.close();
  }

  async #report(): Promise<void> {
    // Names of the phase in the ids: a second phase must not repeat the first one's.
    const phase = this.#number++;
    const body = (at: number) =>
      JSON.stringify({
        id: `company-${process.pid}-${phase}-#n#`,
        subject: `agent://company/${(at * 7919) % AGENTS}`,
        reporter: `agent://company/r${at % 50}`,
        outcome: at % 9 === 0 ? 0 : 1,
        stakes: 1 + (at % 500),
        grade: "counterparty",
      });
    const offered = await this.#generator.run({
      url: this.#service.url,
      route: "/v1/outcomes",
      key: ADMIN_KEY,
      bodies: Array.from({ length: AGENTS }, (_, at) => body(at)),
      perSecond: this.#outcomesPerSecond,
      seconds: SECONDS_MAX,
      connections: CONNECTIONS,
      isSpinning: false,
    });
    const failed = Object.values(offered.errors).reduce((sum, count) => sum + count, 0);
    this.#done.outcomes += offered.answered;
    this.#done.errors += failed + offered.turnedAway;
    this.#times.push(offered.corrected);
  }

  async #startRun(): Promise<string | undefined> {
    const body = JSON.stringify({ dry_run: true, wait: false });
    const started = await this.#post("/v1/kaizen/run", body);
    return started === undefined ? undefined : (started as { run_id: string }).run_id;
  }

  async #learn(first: string | undefined): Promise<void> {
    let id = first;
    let until = performance.now() + RUN_MS_MAX;
    while (id !== undefined) {
      const { url } = this.#service;
      const seen = await fetch(`${url}/v1/kaizen/runs/${id}`, { headers });
      if (((await seen.json()) as { state: string }).state === "running") {
        if (performance.now() > until) throw new Error(`the run ${id} does not end`);
        await delay(POLL_MS);
        continue;
      }
      this.#done.kaizen_runs++;
      until = performance.now() + RUN_MS_MAX;
      id = this.#isOver ? undefined : await this.#startRun();
    }
  }

  async #ask(): Promise<void> {
    for (let turn = 0; !this.#isOver; turn++) {
      const sql = this.#queries[turn % this.#queries.length];
      if ((await this.#post("/v1/query", JSON.stringify({ sql }))) !== undefined) {
        this.#done.queries++;
      }
    }
  }

  /** The answer; undefined, and an error, when it is refused. */
  async #post(route: string, body: string): Promise<unknown> {
    const response = await fetch(this.#service.url + route, { method: "POST", headers, body });
    const answer: unknown = await response.json();
    if (response.ok) return answer;
    this.#done.errors++;
    process.stderr.write(`${route}: ${response.status} ${JSON.stringify(answer)}\n`);
    await delay(POLL_MS);
    return undefined;
  }
}

const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
