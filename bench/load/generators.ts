// Generators of HTTP load: wrk, which is native and keeps a server saturated on the core that it leaves,
// and autocannon, which needs more time for a request than the service does and is its limit. Where wrk is not
// installed, autocannon takes its place, and stderr says so.
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import autocannon from "autocannon";

export const GENERATORS = ["wrk", "autocannon"] as const;
export type Generator = (typeof GENERATORS)[number];

/** What is asked on every connection, the next when the last is answered. */
export interface Question {
  readonly url: string;
  /** The same each time, or one after the other; undefined asks by GET. */
  readonly body: string | readonly string[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly seconds: number;
}

export interface Answered {
  /** Answers of status 2xx. */
  readonly requests: number;
  readonly perSecond: number;
  /** Other answers, and requests that had none. */
  readonly errors: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Asks for as long as the question says. */
export function ask(generator: Generator, question: Question): Promise<Answered> {
  return installed(generator) === "wrk" ? askByWrk(question) : askByAutocannon(question);
}

let hasWrk: boolean | undefined;

/** `generator`, or autocannon where that is wrk and wrk is not installed; stderr says so, once. */
function installed(generator: Generator): Generator {
  if (generator !== "wrk") return generator;
  if (hasWrk === undefined) {
    hasWrk = spawnSync("wrk", ["-v"]).error === undefined;
    if (!hasWrk) {
      const consequence = "the generator is autocannon, which loads the service less than wrk does";
      process.stderr.write(`wrk is not installed (apt-get install wrk): ${consequence}\n`);
    }
  }
  return hasWrk ? "wrk" : "autocannon";
}

/** Reports by itself what its own table rounds or leaves out. */
const REPORT = `
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('\\n{"requests":%d,"us":%d,"errors":%d,"p50":%d,"p99":%d}\\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
`;

/** Requests are laid out once: wrk would else do it for each that it sends. */
const SEVERAL = `
local at = 0
local requests = {}
init = function()
  for index, body in ipairs(bodies) do requests[index] = wrk.format(nil, nil, nil, body) end
end
request = function()
  at = at % #requests + 1
  return requests[at]
end
`;

function scriptOf({ body, headers }: Question): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  if (body === undefined) return ['wrk.method = "GET"', ...lines, REPORT].join("\n");
  const quoted = (text: string) => `[==[${text}]==]`;
  const asked =
    typeof body === "string"
      ? `wrk.body = ${quoted(body)}`
      : `bodies = {${body.map(quoted).join(",")}}\n${SEVERAL}`;
  return ['wrk.method = "POST"', ...lines, asked, REPORT].join("\n");
}

async function askByWrk(question: Question): Promise<Answered> {
  const { url, connections, seconds } = question;
  const directory = mkdtempSync(path.join(tmpdir(), "trustrank-wrk-"));
  const script = path.join(directory, "request.lua");
  writeFileSync(script, scriptOf(question));
  // An answer later than wrk's own limit of 2 s is late and no error: it stands in the quantiles.
  const flags = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "60s"];
  flags.push("-s", script, url);
  try {
    const { stdout } = await promisify(execFile)("wrk", flags);
    const report = JSON.parse(stdout.trimEnd().split("\n").at(-1)!) as {
      requests: number;
      us: number;
      errors: number;
      p50: number;
      p99: number;
    };
    const requests = report.requests - report.errors;
    return {
      requests,
      perSecond: requests / (report.us / 1e6),
      errors: report.errors,
      p50Ms: report.p50 / 1000,
      p99Ms: report.p99 / 1000,
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function askByAutocannon(question: Question): Promise<Answered> {
  const { url, body, headers, connections, seconds } = question;
  const result = await autocannon({
    url,
    method: body === undefined ? "GET" : "POST",
    headers: { ...headers },
    ...(body === undefined || typeof body === "string"
      ? { body }
      : { requests: body.map((each) => ({ body: each })) }),
    connections,
    duration: seconds,
  });
  return {
    requests: result["2xx"],
    perSecond: result["2xx"] / result.duration,
    errors: result.errors + result.timeouts + result.non2xx,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  };
}
