// Keys as an operator keeps them: one is made, used, changed, given another secret and revoked.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isInState, type ListedKey } from "../../../src/console/pages/keys/key-states.ts";
import { type ConsoleStage, openConsole, type Visitor } from "../_console.ts";
import { needs } from "../../_needs.ts";

const HOSTILE = "<b onclick=alert(1)>\u202Egnp";

describe("a key's state", () => {
  const NOW_MS = Date.UTC(2026, 4, 5);
  const DAY_MS = 86_400_000;
  const keyOf = (ageDays: number, last_used_at: string | null) =>
    ({
      key_id: "k",
      tenant: "acme",
      label: null,
      scopes: [],
      created_at: new Date(NOW_MS - ageDays * DAY_MS).toISOString(),
      expires_at: null,
      revoked_at: null,
      overlap_ends_at: null,
      last_used_at,
    }) as unknown as ListedKey;

  it("is unused only where the key has been there for 90 days", () => {
    expect(isInState(keyOf(9 / 1440, null), "unused", NOW_MS)).toBe(false);
    expect(isInState(keyOf(89.9, null), "unused", NOW_MS)).toBe(false);
    expect(isInState(keyOf(90, null), "unused", NOW_MS)).toBe(true);
    expect(isInState(keyOf(400, new Date(NOW_MS).toISOString()), "unused", NOW_MS)).toBe(false);
  });
});

describe("Keys", needs("chromium"), () => {
  let stage: ConsoleStage;
  let visitor: Visitor;
  let id: string;
  let secret: string;
  beforeAll(async () => {
    stage = await openConsole();
    const scopes = ["score:read"];
    await stage.ask("POST", "/v1/keys", { tenant: "globex", scopes, label: HOSTILE });
    const soon = Date.now() + 5 * 86_400_000;
    await stage.ask("POST", "/v1/keys", { tenant: "initech", scopes, expires_at: soon });
    visitor = await stage.newVisitor();
    await visitor.logIn(stage.adminKey);
  });
  afterAll(() => stage?.close());

  const rows = () => visitor.page.getByRole("region", { name: "keys" }).locator("tbody tr");
  const dialog = () => visitor.page.getByRole("dialog");
  const closed = () => dialog().waitFor({ state: "detached" });
  const press = (name: string) => visitor.page.getByRole("button", { name, exact: true }).click();
  const shownSecret = () =>
    visitor.page.getByRole("group", { name: "secret" }).locator("pre").textContent();
  const stored = async () =>
    (await stage.ask<{ keys: ListedKey[] }>("GET", "/v1/keys")).keys.find(
      (each) => each.key_id === id,
    )!;
  const verify = async (key: string) => {
    const response = await fetch(`${stage.url}/v1/trust/verify`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        agent_id: "agent://acme/writer",
        action: "pay.invoice",
        tool_level: "L1",
      }),
    });
    return response.status;
  };

  it("makes a key whose text is shown once", async () => {
    const { page } = visitor;
    await visitor.go("keys");
    await press("New key…");
    await dialog().getByLabel("Tenant").fill("acme");
    await dialog().getByLabel("Label").fill("gateway in Oslo");
    await dialog().getByLabel("outcomes:write").uncheck();
    await dialog().getByLabel("Ends").selectOption("30");
    await dialog().getByRole("button", { name: "Create" }).click();
    await closed();
    secret = (await shownSecret())!;
    await page.getByText("it is not shown again").waitFor();
    id = new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("key")!;
    expect(await stored()).toMatchObject({
      tenant: "acme",
      label: "gateway in Oslo",
      scopes: ["score:read"],
      first_party: false,
      last_used_at: null,
    });
    expect(page.url()).not.toContain(secret);
    await press("I have stored it");
    expect(await page.content()).not.toContain(secret);
    await page.reload();
    await page.getByRole("heading", { name: `Key ${id}` }).waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.getByText("no limit of its own").waitFor();
  });

  it("says when the key was last used", async () => {
    const { page } = visitor;
    const row = rows().filter({ hasText: id });
    await row.getByText("not used yet").waitFor();
    const unused = page.locator(".figure", { hasText: "unused for 90 days" }).locator(".big");
    expect(await unused.textContent()).toBe("0");
    expect(await verify(secret)).toBe(200);
    await expect
      .poll(async () => {
        await press("Refresh");
        return row.locator("time[title]").first().textContent();
      })
      .toMatch(/just now|s ago/);
    expect(await page.locator("main .notice.bad").count()).toBe(0);
  });

  it("says what is wrong with a key that cannot be made", async () => {
    await press("New key…");
    await dialog().getByLabel("Tenant").fill("");
    for (const scope of ["score:read", "outcomes:write"]) {
      await dialog().getByLabel(scope).uncheck();
    }
    await dialog().getByRole("button", { name: "Create" }).click();
    const alert = dialog().getByRole("alert");
    await alert.getByText("/tenant", { exact: true }).waitFor();
    expect(await alert.textContent()).toContain("/scopes");
    await dialog().getByRole("button", { name: "Cancel" }).click();
    await closed();
  });

  it("filters by state, tenant, scope and words, and keeps the filter in the address", async () => {
    const { page } = visitor;
    await visitor.go("keys");
    await page.getByLabel("Tenant").selectOption("globex");
    await expect.poll(() => rows().count()).toBe(1);
    expect(await rows().first().textContent()).toContain(
      String.raw`<b onclick=alert(1)>\u{202e}gnp`,
    );
    expect(page.url()).toContain("tenant=globex");
    await page.getByRole("link", { name: "Clear" }).click();
    await page.getByLabel("State").selectOption("ending");
    await expect.poll(() => rows().count()).toBe(1);
    await page.getByLabel("Find").fill("oslo");
    await page.getByText("No key fits").waitFor();
    await page.getByLabel("State").selectOption("active");
    await expect.poll(() => rows().count()).toBe(1);
    await page.getByLabel("May", { exact: true }).selectOption("admin");
    await page.getByText("No key fits").waitFor();
    await page.getByRole("link", { name: "Clear" }).click();
    expect(page.url()).not.toContain("scope=");
  });

  it("changes what a key may do and when it ends", async () => {
    await visitor.go(`keys?key=${id}`);
    await press("Change…");
    await dialog().getByRole("button", { name: "Change" }).click();
    await dialog().getByText("nothing is changed yet").waitFor();
    await dialog().getByLabel("Label").fill("gateway in Bergen");
    await dialog().getByLabel("outcomes:write").check();
    await dialog().getByLabel("Ends", { exact: true }).selectOption("never");
    await dialog().getByRole("button", { name: "Change" }).click();
    await closed();
    await rows().getByText("gateway in Bergen").waitFor();
    expect(await stored()).toMatchObject({
      label: "gateway in Bergen",
      scopes: ["score:read", "outcomes:write"],
      expires_at: null,
    });
  });

  it("gives it another secret while the present one works on", async () => {
    await press("Rotate…");
    await dialog().getByRole("button", { name: "Rotate" }).click();
    await closed();
    const next = (await shownSecret())!;
    expect(next).not.toBe(secret);
    expect([await verify(secret), await verify(next)]).toEqual([200, 200]);
    await rows().getByText("two secrets").waitFor();
    await visitor.page.setViewportSize({ width: 400, height: 900 });
    await visitor.page.waitForTimeout(300);
    await visitor.page.screenshot({ path: "/tmp/ckeys-n.png", fullPage: true });
    await visitor.expectSound();
    await press("I have stored it");
    await visitor.expectSound("keys");
    secret = next;
  });

  it("revokes it once its name is typed, and it is refused", async () => {
    const { page } = visitor;
    await press("Revoke…");
    const doIt = dialog().getByRole("button", { name: "Revoke" });
    expect(await doIt.isDisabled()).toBe(true);
    await dialog().getByLabel(`Type ${id} to go on`).fill(id);
    await visitor.expectSound();
    await doIt.click();
    await closed();
    expect(await verify(secret)).toBe(401);
    await expect.poll(() => rows().filter({ hasText: id }).count()).toBe(0);
    await page.getByRole("button", { name: "Revoke…" }).waitFor({ state: "detached" });
    const noted = async () => {
      const { rows: found } = await stage.ask<{ rows: unknown[][] }>("POST", "/v1/query", {
        sql: "SELECT event FROM audit_events WHERE via LIKE 'console:%' ORDER BY position",
      });
      return found.flat();
    };
    const events = ["created", "changed", "rotated", "revoked"].map((each) => `api_key.${each}`);
    await expect.poll(noted).toEqual(events);
  });

  it("tells a key that may not keep keys so", async () => {
    const reader = { tenant: "acme", scopes: ["analytics:read"] };
    const { key } = await stage.ask<{ key: string }>("POST", "/v1/keys", reader);
    const other = await stage.newVisitor();
    await other.logIn(key);
    await other.go("keys");
    await other.page.getByText("insufficient_scope").waitFor();
    expect(await other.page.locator("tbody tr").count()).toBe(0);
    await other.context.close();
  });
});
