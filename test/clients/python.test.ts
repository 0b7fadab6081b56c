// The Python client's own tests, against the real service and the fault proxy of the conformance kit;
// and its signatures, verified by another implementation.
import { execFile } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { flattenedVerify, importJWK, type JWK } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Fault, FaultProxy } from "../../src/client/conformance/fault-proxy.ts";
import { NodeSet } from "../../src/client/nodes/node-set.ts";
import { type LiveService, startLiveService } from "../client/_live.ts";
import { type Service, startTestService } from "../client/_service.ts";
import { needs } from "../_needs.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

const run = promisify(execFile);
const FOLDER = path.resolve(import.meta.dirname, "../../clients/python");
const NEEDED = needs("python3", "python3-httpx", "python3-cryptography", "python3-pytest");

/** The first Python that has what the client and its tests need. */
async function findPython(): Promise<string | undefined> {
  for (const python of ["python3", "/usr/bin/python3"]) {
    try {
      await run(python, ["-c", "import httpx, cryptography, pytest"]);
      return python;
    } catch {
      // Another one may have them.
    }
  }
  return undefined;
}

const python = await findPython();

describe("the Python client", NEEDED, () => {
  let service: Service;
  let live: LiveService;
  let proxy: FaultProxy;
  let control: http.Server;
  beforeAll(async () => {
    [service, live] = await Promise.all([startTestService(), startLiveService()]);
    proxy = await FaultProxy.open(service.baseUrl);
    control = http.createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      request.on("end", () => {
        void proxy.set(JSON.parse(text) as Fault).then(() => response.writeHead(204).end());
      });
    });
    control.listen(0, "127.0.0.1");
    await once(control, "listening");
  });
  afterAll(async () => {
    control.close();
    await proxy.close();
    await Promise.all([service.stop(), live.stop()]);
  });

  it("passes its tests", async () => {
    const { port } = control.address() as AddressInfo;
    const env = {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: "1",
      TRUSTRANK_TEST_URL: service.baseUrl,
      TRUSTRANK_TEST_KEY: service.apiKey,
      TRUSTRANK_TEST_LIVE_URL: live.baseUrl,
      TRUSTRANK_TEST_LIVE_KEY: live.apiKey,
      TRUSTRANK_TEST_PROXY: proxy.baseUrl,
      TRUSTRANK_TEST_CONTROL: `http://127.0.0.1:${port}/`,
    };
    const flags = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"];
    const ended = run(python!, flags, { cwd: FOLDER, env, timeout: WAIT_MS_MAX });
    const { stdout } = await ended.catch((error: { stdout: string; stderr: string }) => {
      throw new Error(error.stdout + error.stderr);
    });
    // httpx of Debian may leave a coroutine to the garbage collector, whose warning pytest counts.
    expect(stdout).toMatch(/^\d{2,} passed(, \d+ warnings?)? in /m);
    // What the rails reported has reached the ledger with the decision it settles.
    const reported = service.appended.filter(({ subject }) => subject.startsWith("agent://shop/"));
    expect(reported.length).toBeGreaterThan(5);
    expect(reported.filter(({ requestId }) => requestId === "")).toEqual([]);
    expect(reported.filter(({ outcome }) => outcome === 0)).toHaveLength(2);
  });

  it("picks the same node as the TypeScript client", async () => {
    const addresses = ["http://a:1", "http://b:2", "https://c.example/trust"];
    const agents = ["", "agent://acme/buyer", "agent://ümläut/\u{1f916}", "agent://a/\ud800"];
    const program = `
import json, sys
sys.path.insert(0, "src")
from trustrank._nodes import NodeSet
addresses, agents = json.loads(sys.argv[1])
nodes = NodeSet([(address, None) for address in addresses], None)
print(json.dumps([[node.address for node in nodes.order(agent)[0]] for agent in agents]))
`;
    const given = JSON.stringify([addresses, agents]);
    const { stdout } = await run(python!, ["-B", "-c", program, given], { cwd: FOLDER });
    const nodes = new NodeSet({
      nodes: addresses.map((address) => [address, address] as const),
      probe: async () => true,
      clock: () => 1,
      roundRobinStart: 0,
    });
    const expected = agents.map((agent) => nodes.orderFor(agent).live.map(({ node }) => node));
    expect(JSON.parse(stdout)).toEqual(expected);
  });

  it("makes signatures that a JWS library verifies", async () => {
    const program = `
import json, sys
sys.path.insert(0, "src")
from trustrank.signing import OutcomeSigner, generate_signing_key
signer = OutcomeSigner(generate_signing_key(), "bureau-1")
body = '{"outcome":1}'
print(json.dumps({"jwk": signer.public_jwk, "kid": signer.kid, "body": body, "jws": signer(body)}))
`;
    const { stdout } = await run(python!, ["-B", "-c", program], { cwd: FOLDER });
    const { jwk, kid, body, jws } = JSON.parse(stdout) as Record<"kid" | "body" | "jws", string> & {
      jwk: JWK;
    };
    const [head, , signature] = jws.split(".");
    const sealed = { protected: head!, payload: body, signature: signature! };
    const key = await importJWK(jwk, "EdDSA");
    const { protectedHeader } = await flattenedVerify(sealed, key);
    expect(protectedHeader).toMatchObject({ kid, aud: "bureau-1", b64: false, crit: ["b64"] });
  });
});
