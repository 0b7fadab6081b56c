// A challenge as a step-up through nginx and Caddy: their examples with the lines that the guide adds,
// taken from the guide.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Change, type Edge, openEdge, PATHS } from "./_edge.ts";
import { needs } from "../_needs.ts";

const GUIDE = readFileSync(new URL("../../docs/guide/gateways.md", import.meta.url), "utf8");
const [NGINX = "", CADDY = ""] = [...GUIDE.matchAll(/^```text\n(# [^]*?)^```$/gm)].map(
  ([, lines]) => lines,
);
const [, IN_LOCATION = "", IN_DENIED = ""] = NGINX.split(/^# In .*:\n/m);

function replaced(text: string, mark: string, by: string): string {
  if (text.split(mark).length !== 2) throw new Error(`${mark} is not there once`);
  return text.replace(mark, () => by);
}

const STEP_UP = "&challenge=step-up&acr_values=phr&tool_level=";
const CHANGES: Readonly<Record<"nginx" | "caddy", Change>> = {
  nginx: (example) => {
    const asking = replaced(example, "&tool_level=", STEP_UP);
    const known = replaced(asking, "auth_request /_trust;", `auth_request /_trust;${IN_LOCATION}`);
    return replaced(known, "return 403;", `${IN_DENIED}return 403;`);
  },
  caddy: (example) => {
    const asking = replaced(example, "&tool_level=", STEP_UP);
    return replaced(asking, "handle_response {", `${CADDY}handle_response {`);
  },
};

describe.each(["nginx", "caddy"] as const)("%s", (program) => {
  describe("from the Debian package of that name", needs(program), () => {
    let edge: Edge;
    beforeAll(async () => {
      edge = await openEdge(program, CHANGES[program]);
    });
    afterAll(() => edge?.stop());

    it("passes the challenge on, once, and nothing else as a 401", async () => {
      const challenged = await edge.ask(PATHS.L3, "newcomer");
      expect([challenged.status, challenged.headers.get("x-trust-verdict")]).toEqual([
        401,
        "CHALLENGE",
      ]);
      // Sent twice, the two would be joined.
      expect(challenged.headers.get("www-authenticate")).toMatch(
        /^Bearer error="insufficient_user_authentication", error_description="[^"]+", acr_values="phr"$/,
      );
      const refused = await edge.ask(PATHS.L3, "refuse");
      expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([403, null]);
      expect((await edge.ask(PATHS.L3, "connect")).status).toBe(200);
    });
  });
});
