// Asks the service whose output goes to the file given for one verify, with the key and the address that it
// printed, as a reader of the README would; then ends the service. Used by bare.sh.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [, , log] = process.argv;
const WAIT_MS = 60_000;

/** The key of the first start, once it is printed. */
async function readKey() {
  for (const end = Date.now() + WAIT_MS; Date.now() < end; await sleep(100)) {
    const [key] = /tr_live_\w+/.exec(readFileSync(log, "utf8")) ?? [];
    if (key !== undefined) return key;
  }
  throw new Error("npm start printed no key");
}

const key = await readKey();
const answer = await fetch("http://127.0.0.1:8080/v1/trust/verify", {
  method: "POST",
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  body: JSON.stringify({
    agent_id: "agent://globex/price-scout",
    action: "order.place",
    tool_level: "L2",
    context: {},
  }),
});
const { policy_action: { verdict } = {} } = await answer.json();
process.stdout.write(`npm start: verify answered ${answer.status} ${verdict}\n`);
if (verdict !== "CHALLENGE") process.exitCode = 1;

const [, pid] = /"message":"service_starting".*?"pid":(\d+)/.exec(readFileSync(log, "utf8"));
process.kill(Number(pid), "SIGTERM");
for (const end = Date.now() + WAIT_MS; isRunning(Number(pid)); await sleep(100)) {
  if (Date.now() > end) throw new Error("the service did not end");
}

function isRunning(id) {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
}
