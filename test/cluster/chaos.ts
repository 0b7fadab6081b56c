// cluster:chaos: three nodes of the service on three servers of the ordered log, faults in a seeded order, and
// the history of every outcome held against the journals of all nodes. A table on stderr; one JSON object on
// the last line of stdout. Exit code 1 when something did not hold, with a sentence each.
import { parseArgs } from "node:util";
import { chaosRun, type ChaosReport } from "./run.ts";
import { LONG_FAULTS } from "./cuts.ts";
import { FAULTS } from "./faults.ts";
import { isInside, natsServer, runInside } from "./stage.ts";

const HELP = `npm run --silent cluster:chaos -- [options]

  --seconds <n>   faults go on for so long (default 300)
  --seed <n>      order of the faults and of the outcomes (default: by the clock)
  --only <text>   only faults whose name holds the text; commas separate several
  --once          every short fault once, then end; long ones where --only names them
  --cut-seconds <n>  how long the cuts of long faults last (default 45)
  --keep          leave journals and logs behind, also when all is well
  --list          names of the faults

Needs nats-server 2.10.23 or later: TRUSTRANK_TEST_NATS_SERVER, unpacked by .ci/nats-server.sh, or on the PATH. Cables are cut and
disks filled only where namespaces may be made (root, or user namespaces); elsewhere these are left out.
`;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "300" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    only: { type: "string", default: "" },
    once: { type: "boolean", default: false },
    "cut-seconds": { type: "string", default: "45" },
    keep: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

/** Share of the answers of nodes that reach a majority which may say that they are behind. */
const REFUSED_FRESH_MAX = 0.001;

/** Fewer questions in long faults show nothing. */
const QUESTIONS_MIN = 1000;

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<number> {
  if (values.help) return print(HELP);
  if (values.list)
    return print(`${[...FAULTS, ...LONG_FAULTS].map(({ name }) => name).join("\n")}\n`);
  const program = natsServer();
  if (program === undefined) {
    tell("nats-server is not on this machine: see --help");
    return 2;
  }
  if (!isInside()) {
    const parameters = [...process.argv.slice(1), "--seed", values.seed];
    const inside = runInside(parameters);
    if (inside !== undefined) return inside;
    tell("no namespaces here: no cable is cut, no disk is filled");
  }
  const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
  const only = values.only.split(",").map((text) => text.trim());
  const [isOnce, isKept, cutSeconds] = [values.once, values.keep, Number(values["cut-seconds"])];
  const report = await chaosRun({ seconds, seed, only, isOnce, isKept, cutSeconds, program, tell });
  tell(tableOf(report));
  print(`${JSON.stringify(report)}\n`);
  const faults = listFaults(report);
  for (const fault of faults) tell(`broken: ${fault}`);
  return faults.length > 0 ? 1 : 0;
}

/** What did not hold. */
function listFaults(report: ChaosReport): string[] {
  const { keys_judged: judged, reads, late_acks: late } = report;
  const [, fresh] = judged.refused_fresh;
  const questions = judged.stale + judged.wrong_keys + fresh!;
  const checks: readonly (readonly [boolean, string])[] = [
    [report.lost > 0, `${report.lost} acknowledged outcomes are lost`],
    [report.wrong > 0, `${report.wrong} answers or records are wrong`],
    [!report.identical, "the nodes' journals or tables differ"],
    [report.stale > 0, `${report.stale} reads were answered stale`],
    [report.wrong_keys > 0, `${report.wrong_keys} revoked keys were taken`],
    [report.refused_fresh > REFUSED_FRESH_MAX, `fresh nodes refused ${report.refused_fresh}`],
    [late > 0, `${late} acknowledgements were late`],
    [reads.failed > 0, `${reads.failed} reads of scores failed`],
    [report.long_faults > 0 && questions < QUESTIONS_MIN, `only ${questions} questions judged`],
  ];
  return checks.flatMap(([isBroken, sentence]) => (isBroken ? [sentence] : []));
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function tableOf(report: ChaosReport): string {
  const rows = Object.entries(report).map(([name, value]) => {
    return `${name.padEnd(18)} ${typeof value === "object" ? JSON.stringify(value) : value}`;
  });
  return rows.join("\n");
}

process.exitCode = await main();
// What still runs ends with this process.
process.exit();
