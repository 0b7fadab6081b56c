// bench -- pool: CPU of one verdict by where it is scored: on the HTTP thread, on the pool of threads (Piscina)
// a request at a time, and there by batches as a caller or a collector in front would make them.
import { parseArgs } from "node:util";
import { byTurns, type Row, type Side } from "./load/by-turns.ts";
import { report } from "./load/flags.ts";
import { BODIES, ROUTE } from "./load/questions.ts";
import { tableOf, told } from "./load/spread.ts";
import { machine, type ServerProcess, startService } from "./server-process.ts";

const HELP = `npm run bench -- pool [options]

  --rounds N       rounds, each with every side once (default 10)
  --seconds S      of a side in a round (default 1)
  --connections N  (default 64)
  --items A,B,...  items of the batches (default 1,16,64)
  --seed N         of the order (default 1)
  --out FILE       the result as a file as well, for \`npm run bench -- results\`
  --smoke          one short round, to see that it works

All figures are of one item. A table on stderr, one JSON object on the last line.
`;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    seconds: { type: "string", default: "1" },
    connections: { type: "string", default: "64" },
    items: { type: "string", default: "1,16,64" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    smoke: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const batchOf = (items: number): string =>
  `{"items":[${Array.from({ length: items }, () => BODIES.plain).join(",")}]}`;

function print(rows: Readonly<Record<string, Row>>): void {
  const head = ["one item", "CPU us", "of in place", "items/s", "p99 ms of a request"];
  const lines = Object.entries(rows).map(([name, { cpu_us, ratio, per_second, p99_ms }]) => [
    name,
    told(cpu_us),
    told(ratio),
    told(per_second),
    told(p99_ms),
  ]);
  process.stderr.write(`\n${tableOf(head, lines)}`);
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const sizes = values.items.split(",").map(Number);
  const servers: ServerProcess[] = [];
  const start = async (mode: string) => {
    const server = await startService("--scoring", mode);
    servers.push(server);
    return server;
  };
  try {
    const inPlace = await start("inline");
    const onPool = await start("pool");
    const sides: Side[] = [
      { name: "in place, a request", server: inPlace, route: ROUTE, body: BODIES.plain },
      ...sizes.flatMap((items): Side[] => {
        const batch = { route: `${ROUTE}/batch`, body: batchOf(items), items };
        const name = items === 1 ? "a batch of 1" : `batches of ${items}`;
        return [
          { name: `in place, ${name}`, server: inPlace, ...batch },
          { name: `pool, ${name}`, server: onPool, ...batch },
        ];
      }),
    ];
    const rows = await byTurns(sides, {
      rounds: values.smoke ? 1 : Number(values.rounds),
      seconds: values.smoke ? 1 : Number(values.seconds),
      connections: Number(values.connections),
      seed: Number(values.seed),
      warmUpSeconds: values.smoke ? 0 : 1,
    });
    print(rows);
    report({ bench: "pool", machine: machine(), rows }, values.out);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

await main();
