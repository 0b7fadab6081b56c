// A stranger takes a company's namespace before the company comes: reads its raw outcomes, locks it
// out, has any agent there refused. Then a former owner does the same.
import type { ServerProcess } from "../../../bench/server-process.ts";
import { registerReporterAs } from "../../../bench/reporter.ts";
import type { Attack } from "../attack.ts";
import type { AttackStage } from "../stage.ts";

const SCOPES = ["keys:write", "outcomes:write", "score:read", "analytics:read"];
const VICTIM = "agent://acme/ledger-sync";
const SECRET_STAKES = 7_654_321;

export const namespaceTaken: Attack = {
  name: "namespace-taken",
  what: "a tenant registers the first key in a company's namespace, reads, locks out and revokes",
  async play(stage) {
    const service = await stage.start("--no-sample");
    const broken: string[] = [];
    const hold = (isHeld: boolean, why: string) => isHeld || broken.push(why);
    const keys = `/v1/agents/${encodeURIComponent(VICTIM)}/keys`;
    const stranger = await stage.makeKey(service, "stranger", SCOPES);
    const owner = await stage.makeKey(service, "acme", SCOPES);
    await reportSecret(stage, service, owner);
    const { json: before } = await check(stage, service);

    const taken = await registerReporterAs(service.url, stranger, VICTIM);
    hold(taken.status === 403, `the stranger's key was answered ${taken.status}`);
    if (taken.status === 200) await stage.ask(service, `${keys}/revoke`, asking(stranger, taken));
    hold((await rowsSeen(stage, service, stranger)) === 0, "the stranger reads raw outcomes");
    const { json: after } = await check(stage, service);
    hold(after.decision === before.decision, `the agent is answered ${after.decision}`);

    const granted = await stage.ask(service, "/v1/namespaces/acme", {
      method: "PUT",
      body: { tenant: "acme" },
    });
    hold(granted.status === 200, `the grant was answered ${granted.status}`);
    const own = await registerReporterAs(service.url, owner, VICTIM);
    hold(own.status === 200, `the owner's key was answered ${own.status}`);
    const late = await registerReporterAs(service.url, stranger, "agent://acme/other");
    hold(late.status === 403, `a late key was answered ${late.status}`);
    hold((await rowsSeen(stage, service, owner)) > 0, "the owner does not see its rows");

    // A former owner: what it has revoked refuses nobody, and its key signs for nobody.
    await stage.ask(service, `${keys}/revoke`, asking(owner, own));
    const { json: revoked } = await check(stage, service);
    hold(revoked.decision === "refuse", "a revocation by the owner has no effect");
    await stage.ask(service, "/v1/namespaces/acme/transfer", { body: { tenant: "acme-corp" } });
    const { json: last } = await check(stage, service);
    hold(last.decision !== "refuse", "a former owner's revocation still refuses the agent");
    const again = await registerReporterAs(service.url, owner, VICTIM);
    hold(again.status === 403, `the former owner's key was answered ${again.status}`);
    hold((await rowsSeen(stage, service, owner, "by stranger")) === 0, "a former owner reads on");
    return { broken, figures: { stranger_status: taken.status, former_status: again.status } };
  },
};

const asking = (key: string, { kid }: { kid: string }) => ({ key, body: { kid } });

async function reportSecret(stage: AttackStage, service: ServerProcess, owner: string) {
  const outcome = { subject: VICTIM, outcome: 1, stakes: SECRET_STAKES, grade: "counterparty" };
  await stage.ask(service, "/v1/outcomes", {
    key: owner,
    body: { ...outcome, reporter: "agent://acme/gateway", action: "by.owner" },
  });
  await stage.ask(service, "/v1/outcomes", {
    body: { ...outcome, reporter: "agent://market/gateway", action: "by.stranger" },
  });
}

async function check(stage: AttackStage, service: ServerProcess) {
  const reply = await stage.ask(service, "/v1/check", { body: { subject: VICTIM, stakes: 1 } });
  return { json: JSON.parse(reply.text) as { decision: string } };
}

/** Rows of the company's agent that a key sees; of all of them, or of those that others reported. */
async function rowsSeen(stage: AttackStage, service: ServerProcess, key: string, whose = "") {
  const action = whose === "" ? "" : ` AND action = '${whose.replace(" ", ".")}'`;
  const sql = `SELECT count(*) FROM outcomes WHERE stakes = ${SECRET_STAKES}${action}`;
  // A record of now: what the query must have seen.
  const marker = { subject: "agent://x/s", reporter: "agent://x/r", outcome: 1, stakes: 1 };
  const body = { ...marker, grade: "counterparty" };
  const marked = await stage.ask(service, "/v1/outcomes", { body });
  const { position } = JSON.parse(marked.text) as { position: number };
  const path = `/v1/query?min_position=${position}`;
  const reply = await stage.ask(service, path, { key, body: { sql } });
  const { rows } = JSON.parse(reply.text) as { rows: [[number | string]] };
  return Number(rows[0][0]);
}
