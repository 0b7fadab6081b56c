// The text of a start, read by a user who has only the terminal: every start says where the admin key is, how to get
// another, where the console is, and a first request about an agent that is there.
import { expect, it } from "vitest";
import { describeStart, type StartFacts } from "../../src/cli/start-text.ts";

const SECOND: StartFacts = {
  version: "1.2.3",
  base: "http://127.0.0.1:8080",
  socket: undefined,
  adapter: "uws",
  httpThreads: 1,
  grpcAddress: undefined,
  dataDir: "/srv/data",
  sampleCount: 0,
  replayedCount: 40,
  agentCount: 3,
  newAdminKey: undefined,
  storedAdminKey: { key_id: "0123456789", created_at: "2026-11-20T08:00:00.000Z" },
  adminKeyOrigin: undefined,
  consoleLink: "http://127.0.0.1:8080/console#login=abc",
  consoleUrl: undefined,
  command: "npm run --silent trustrank --",
  dataDirFlags: "",
  hasSampleAgent: true,
  areTestAgentsEnabled: true,
};
const say = (changes: Partial<StartFacts>) => describeStart({ ...SECOND, ...changes }).join("\n");

it("shows the key of the first start once, and asks with it", () => {
  const text = say({ newAdminKey: "tr_live_x", storedAdminKey: undefined, sampleCount: 40 });
  expect(text).toMatch(/^admin key, shown this once: tr_live_x$/m);
  expect(text).toContain("loaded the sample history: 40 outcomes of 3 agents");
  expect(text).toContain("'Authorization: Bearer tr_live_x'");
  expect(text).not.toContain("keys create");
});

it("says at a later start where the key went, and how to make one with and without it", () => {
  const text = say({ dataDirFlags: " --data-dir /srv/data" });
  expect(text).toContain(
    "shown once, when it was made on 2026-11-20 (id 0123456789); only a hash is stored",
  );
  expect(text).toContain("make another in the console under Keys, or stop the service");
  const command = "  npm run --silent trustrank -- keys create";
  expect(text).toContain(`${command} --tenant acme --scopes score:read,outcomes:write --data-dir`);
  expect(text).toContain(`${command} --scopes admin --first-party --data-dir /srv/data`);
  expect(text).toContain('"Authorization: Bearer $KEY"');
  expect(text).toContain("with KEY set to the admin key");
});

it("names the file of the operator's own key, and the login page where no link is printed", () => {
  const text = say({
    adminKeyOrigin: "/run/secrets/admin_key (TRUSTRANK_ADMIN_KEY_FILE)",
    storedAdminKey: undefined,
    consoleLink: undefined,
    consoleUrl: "http://127.0.0.1:8080/console",
  });
  expect(text).toContain("admin key: the one in /run/secrets/admin_key (TRUSTRANK_ADMIN_KEY_FILE)");
  expect(text).toContain("console: http://127.0.0.1:8080/console (log in with the admin key)");
  expect(text).not.toContain("lost");
});

it.each<[string, Partial<StartFacts>, string]>([
  ["the sample", {}, "agent://globex/price-scout"],
  ["no sample", { hasSampleAgent: false }, "agent://test/refuse"],
  [
    "neither a sample nor test agents",
    { hasSampleAgent: false, areTestAgentsEnabled: false },
    "agent://example/first-agent",
  ],
])("asks about an agent that answers: %s", (_, changes, agent) => {
  expect(say(changes)).toContain(`"agent_id":"${agent}"`);
});

it("asks by the socket where there is no port", () => {
  const text = say({ socket: "/run/tr.sock", base: "http://localhost", consoleLink: undefined });
  expect(text).toContain("listens on unix:/run/tr.sock (uws)");
  expect(text).toContain("curl -s --unix-socket /run/tr.sock http://localhost/v1/trust/verify");
  expect(text).not.toContain("console");
});
