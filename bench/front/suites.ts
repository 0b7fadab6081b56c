// Suites by name, as the manifest has them, and their groups.

/** One bench or evaluation; `file` from the root of the tree. */
export interface Suite {
  readonly name: string;
  readonly file: string;
  readonly what: string;
}

/** A suite that none of these names is of the group `others`. */
const NAMES_OF_GROUP: Readonly<Record<string, readonly string[]>> = {
  serving: [
    "http",
    "path",
    "pool",
    "cores",
    "tail",
    "overload",
    "first-call",
    "batch",
    "metrics",
    "cache",
    "soak",
    "console",
  ],
  engine: ["kernel", "growth", "ed25519", "grounding"],
  evidence: ["ledger", "store", "start", "restart", "recovery", "vault-start", "backup"],
  learning: ["kaizen", "kaizen-null", "kaizen-rings", "kaizen-fit", "backtest"],
  quality: [
    "eval:trust",
    "eval:features",
    "eval:attacks",
    "eval:verdicts",
    "eval:import",
    "eval:grounding",
    "eval:kaizen",
  ],
};

const SCRIPT = /^(?:bench:|(?=eval:))(.+)$/;
const LENGTH_MAX = 92;
const FILE = /bench\/[\w/-]+\.ts/;

/** `textOf` reads a file of the tree. */
export function suitesOf(manifest: string, textOf: (file: string) => string): Suite[] {
  const { scripts } = JSON.parse(manifest) as { scripts: Record<string, string> };
  return Object.entries(scripts).flatMap(([script, command]) => {
    const name = SCRIPT.exec(script)?.[1];
    const file = FILE.exec(command)?.[0];
    if (name === undefined || file === undefined) return [];
    return [{ name, file, what: firstSentence(textOf(file)) }];
  });
}

/** Every suite is in one group. */
export function groupsOf(suites: readonly Suite[]): Map<string, Suite[]> {
  const groups = new Map<string, Suite[]>();
  for (const [group, names] of Object.entries(NAMES_OF_GROUP)) {
    groups.set(
      group,
      suites.filter(({ name }) => names.includes(name)),
    );
  }
  const named = new Set(Object.values(NAMES_OF_GROUP).flat());
  const others = suites.filter(({ name }) => !named.has(name));
  return others.length === 0 ? groups : groups.set("others", others);
}

/** Of the comment that opens a file, without the name of the suite; its first clauses if it is long. */
export function firstSentence(text: string): string {
  const lines = text.split("\n");
  const end = lines.findIndex((line) => !line.startsWith("//"));
  const comment = lines.slice(0, end < 0 ? lines.length : end).map((line) => line.slice(3));
  const told = comment.join(" ").replace(/^(?:npm run )?(?:bench|eval)[\w:-]*: /, "");
  const sentence = /^.*?(?=\. |\.$|$)/.exec(told)![0];
  if (sentence.length <= LENGTH_MAX) return sentence;
  return (
    /^(.*)(?:[,;:] | and )/.exec(sentence.slice(0, LENGTH_MAX))?.[1]?.replace(/[,;:]$/, "") ??
    sentence
  );
}
