// Table of benches and evaluations: name, file and group of each suite that `npm run bench -- NAME` starts. The
// suites used most have an npm script of their own as well.

/** One bench or evaluation; `file` from the root of the tree. */
export interface Suite {
  readonly name: string;
  readonly file: string;
  readonly summary: string;
}

type Files = Readonly<Record<string, string>>;

/** Files by name, by group. */
export const GROUPS: Readonly<Record<string, Files>> = {
  serving: {
    http: "bench/http.ts",
    path: "bench/path.ts",
    pool: "bench/pool.ts",
    cores: "bench/cores.ts",
    tail: "bench/tail.ts",
    overload: "bench/overload.ts",
    batch: "bench/batch.ts",
    metrics: "bench/metrics.ts",
    cache: "bench/cache.ts",
    soak: "bench/soak.ts",
    "decision-counts": "bench/decision-counts.ts",
    suspend: "bench/suspend.ts",
    console: "bench/console.ts",
    gateways: "bench/gateways.ts",
  },
  engine: {
    kernel: "bench/kernel.ts",
    growth: "bench/growth.ts",
    grounding: "bench/grounding.ts",
  },
  evidence: {
    ledger: "bench/ledger.ts",
    store: "bench/store-queries.ts",
    agents: "bench/agents.ts",
    start: "bench/start.ts",
    restart: "bench/restart.ts",
    recovery: "bench/recovery.ts",
    "vault-start": "bench/vault-start.ts",
    backup: "bench/backup.ts",
    seals: "bench/seals.ts",
  },
  learning: {
    kaizen: "bench/kaizen-million.ts",
    "kaizen-null": "bench/kaizen-null.ts",
    "kaizen-rings": "bench/kaizen-rings.ts",
    "kaizen-fit": "bench/kaizen-fit.ts",
    backtest: "bench/backtest.ts",
  },
  quality: {
    "eval:trust": "bench/eval-trust.ts",
    "eval:attacks": "bench/attacks-default.ts",
    "eval:verdicts": "bench/eval-verdicts.ts",
    "eval:stakes": "bench/eval-stakes.ts",
    "eval:import": "bench/eval-import.ts",
    "eval:grounding": "bench/eval-grounding.ts",
    "eval:kaizen": "bench/eval-kaizen.ts",
  },
  tools: {
    compare: "bench/compare.ts",
    results: "bench/results.ts",
    plot: "bench/plot.ts",
    "fit-grounding": "bench/fit-grounding.ts",
  },
};

const LENGTH_MAX = 92;

/** `readFile` reads a file of the tree. @returns The suites by group. */
export function listSuites(readFile: (file: string) => string): Map<string, Suite[]> {
  const list = (files: Files): Suite[] =>
    Object.entries(files).map(([name, file]) => ({
      name,
      file,
      summary: readSummary(readFile(file)),
    }));
  return new Map(Object.entries(GROUPS).map(([group, files]) => [group, list(files)]));
}

/** First sentence of the comment that opens a file, without the suite's name; its first clauses if it is long. */
export function readSummary(text: string): string {
  const lines = text.split("\n");
  const end = lines.findIndex((line) => !line.startsWith("//"));
  const comment = lines.slice(0, end < 0 ? lines.length : end).map((line) => line.slice(3));
  const summary = comment.join(" ").replace(/^(?:npm run )?(?:bench|eval)[\w:-]*: /, "");
  const sentence = /^.*?(?=\. |\.$|$)/.exec(summary)![0];
  if (sentence.length <= LENGTH_MAX) return sentence;
  return (
    /^(.*)(?:[,;:] | and )/.exec(sentence.slice(0, LENGTH_MAX))?.[1]?.replace(/[,;:]$/, "") ??
    sentence
  );
}
