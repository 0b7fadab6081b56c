// Reviews as a person works through them: the whole queue by keys alone, callers that wait let go by it,
// disputes in the same queue, and what was decided.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ReportLink } from "../../../src/contract/schemas/disputes.ts";
import type { QueuedReview } from "../../../src/contract/schemas/reviews.ts";
import type { CheckResponse, VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { type ConsoleStage, openConsole, type Visitor } from "../_console.ts";
import { needs } from "../../_needs.ts";

interface Held {
  readonly agent: string;
  readonly stakes: number;
  /** Of the decision. */
  readonly id: string;
  readonly review: string;
}

const NAMES = ["price-scout", "night-buyer", "ledger-bot", "courier", "relay"];
const PHONE = { width: 390, height: 844 };
const HOSTILE = 'pay <img src=x onerror=alert(1)>\n\u202e\u200bnow "please"';

describe("Reviews", needs("chromium"), () => {
  let stage: ConsoleStage;

  // A service for each test: what one of them has decided is not in the queue of the next, nor of its second try.
  beforeEach(async () => {
    stage = await openConsole(["--no-sample"]);
  });
  afterEach(() => stage?.close());

  /** Asks at rising stakes until a person has to look: for a tool level, or to connect. */
  async function holdBack(agent: string, level?: string) {
    const ask = (stakes: number) =>
      level === undefined
        ? stage.ask<CheckResponse>("POST", "/v1/check", { subject: agent, stakes })
        : stage.ask<VerifyResponse>("POST", "/v1/trust/verify", {
            agent_id: agent,
            action: "payments.transfer",
            tool_level: level,
            stakes,
            context: {},
          });
    for (let stakes = 10; stakes < 1e9; stakes = Math.ceil(stakes * 1.7)) {
      const { review, request_id: id } = await ask(stakes);
      if (review !== undefined) return { agent, stakes, id, review: review.id };
    }
    throw new Error("nothing holds it back");
  }

  /** Opens a review of a connection. */
  const escalate = (subject: string, stakes: number) =>
    stage.ask<CheckResponse>("POST", "/v1/check", { subject, stakes });

  const list = async (query: string) =>
    (await stage.ask<{ reviews: QueuedReview[] }>("GET", `/v1/reviews?${query}`)).reviews;
  const undecided = async () => [...(await list("state=open")), ...(await list("state=claimed"))];
  const chosen = ({ page }: Visitor) => page.locator("tr[aria-current] a.agent").textContent();

  it("is worked through by keys alone, and lets callers go that wait", async () => {
    const held: Held[] = [];
    for (const [index, name] of NAMES.entries()) {
      held.push(await holdBack(`agent://newcomers/${name}`, index % 2 === 0 ? "L2" : undefined));
    }
    const [disputed, awaited] = held as unknown as readonly [Held, Held];
    const dispute = { agent: disputed.agent, decision: disputed.id, statement: HOSTILE };
    await stage.ask("POST", "/v1/disputes", dispute);
    const waits = stage.ask<QueuedReview>("GET", `/v1/reviews/${awaited.review}?wait=60`);
    const visitor = await stage.visit("reviews");
    const { page, expectSound } = visitor;
    await expect.poll(() => page.locator("tbody tr").count()).toBe(NAMES.length + 1);
    await page.locator("tbody").getByText("1 waits").waitFor();
    await page.locator(".evidence .against li").first().waitFor();
    await expectSound("reviews");

    const first = await chosen(visitor);
    await page.keyboard.press("j");
    await expect.poll(() => chosen(visitor)).not.toBe(first);
    await page.keyboard.press("k");
    await expect.poll(() => chosen(visitor)).toBe(first);
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("approve = overturned").waitFor();
    await page.keyboard.press("Escape");
    // The letter of a chord goes to another page and decides nothing.
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.getByRole("heading", { name: "Decisions" }).waitFor();
    await page.goBack();
    await expect.poll(() => chosen(visitor)).toBe(first);
    expect(await undecided()).toHaveLength(NAMES.length + 1);

    await page.keyboard.press("c");
    await page.getByText("is yours until").waitFor();
    expect(await list("state=claimed")).toHaveLength(1);
    await page.keyboard.press("n");
    await page.keyboard.type("known to us; a d s j are letters here");
    await page.keyboard.press("Escape");
    await page.keyboard.press("a");
    await page.getByText("Approved (overturned)").waitFor();
    const approved = (await list("state=decided")).find(({ note }) => note !== null);
    expect(approved).toMatchObject({ decision: "overturned", in_force: true });
    expect(approved?.note).toBe("known to us; a d s j are letters here");
    expect(approved?.agent).toContain(first?.trim());

    await page.keyboard.press("s");
    await page.locator("tbody").getByText("skipped").waitFor();
    for (let turns = 0; (await undecided()).length > 0 && turns < 20; turns += 1) {
      const before = await page.locator("tbody tr").count();
      await page.keyboard.press("d");
      await expect.poll(() => page.locator("tbody tr").count()).toBeLessThan(before);
    }
    expect(await undecided()).toEqual([]);
    expect((await waits).decision).not.toBeNull();
    await page.getByText("Nothing waits.").waitFor();

    await page.keyboard.press("u");
    await page.getByText("Taken back").waitFor();
    await page.getByText("cannot be taken back").waitFor();
    const upheld = (await list("state=decided")).filter(({ note }) =>
      note?.startsWith("taken back"),
    );
    expect(upheld.length).toBeGreaterThan(0);
    const untils = upheld.map(({ until }) => Date.parse(until!) - Date.now());
    expect(Math.max(...untils)).toBeLessThan(10_000);
    expect(visitor.complaints).toEqual([]);
  });

  it("is decided on a phone with one thumb, one after the other", async () => {
    for (const name of NAMES) await holdBack(`agent://newcomers/${name}`, "L2");
    const visitor = await stage.visit("reviews");
    const { page } = visitor;
    const back = page.getByRole("link", { name: "All reviews" });
    const approve = page.getByRole("button", { name: /^Approve/ });
    const deny = page.getByRole("button", { name: /^Deny/ });
    await page.setViewportSize(PHONE);
    const isInReach = async () => {
      for (const button of [approve, deny]) {
        const { y, height, width } = (await button.boundingBox())!;
        expect(y, "lower half").toBeGreaterThan(PHONE.height / 2);
        expect(y + height).toBeLessThanOrEqual(PHONE.height);
        expect(Math.min(width, height)).toBeGreaterThanOrEqual(44);
      }
    };
    await page.locator("tbody tr").nth(1).waitFor();
    await isInReach();
    expect(await back.isVisible()).toBe(false);
    const [first, second] = await page.locator("tbody a.agent").allTextContents();
    await page.locator("tbody a.agent").nth(1).click();
    await back.waitFor();
    expect(await page.locator("tbody tr").first().isVisible()).toBe(false);
    await page.locator(".evidence .why").getByText("Held for a person").waitFor();
    expect(await page.locator(".evidence a.agent").textContent()).toBe(second);
    await isInReach();
    await visitor.expectSound("review");
    await page.setViewportSize(PHONE);
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await isInReach();
    const note = (await page.getByLabel("Note").boundingBox())!;
    const bar = (await page.locator(".decision-bar").boundingBox())!;
    expect(note.y + note.height).toBeLessThanOrEqual(bar.y);
    await approve.click();
    await page.getByText("Approved (overturned)").waitFor();
    await expect.poll(() => page.locator(".evidence a.agent").textContent()).not.toBe(second);
    await deny.click();
    await page.getByText("Denied (upheld)").waitFor();
    await page.goBack();
    await page.locator("tbody tr").first().waitFor();
    expect(await back.isVisible()).toBe(false);
    await expect.poll(() => page.locator("tbody tr").count()).toBe(NAMES.length - 2);
    expect(await page.locator("tbody a.agent").allTextContents()).toContain(first);
    await visitor.expectSound("reviews");
  });

  it("keeps the chosen row in view, and never decides another one than was shown", async () => {
    for (let n = 0; n < 40; n += 1) await escalate(`agent://many/n${n}`, 1e6 + n);
    const visitor = await stage.visit("reviews");
    const { page } = visitor;
    await expect.poll(() => page.locator("tbody tr").count()).toBe(40);
    const row = page.locator("tr[aria-current]");
    for (let n = 0; n < 35; n += 1) await page.keyboard.press("j");
    await expect.poll(() => chosen(visitor)).toContain("many/n4");
    const isInView = async () => {
      const { y, height } = (await row.boundingBox())!;
      return y >= 0 && y + height <= 900;
    };
    await expect.poll(isInView).toBe(true);
    for (let n = 0; n < 35; n += 1) await page.keyboard.press("k");
    await expect.poll(() => chosen(visitor)).toContain("many/n39");
    await expect.poll(isInView).toBe(true);
    // The order is another one while the queue is looked at: what is proposed stays.
    await visitor.go("reviews");
    await expect.poll(() => chosen(visitor)).toContain("many/n39");
    await escalate("agent://many/riskiest", 1e9);
    await expect.poll(() => page.locator("tbody a.agent").first().textContent()).toContain("risk");
    expect(await chosen(visitor)).toContain("many/n39");
    // Another reviewer decides what is shown.
    const [open] = await list("state=open&agent=agent://many/n7");
    const id = open?.id;
    await visitor.go(`reviews?id=${id}`);
    await expect.poll(() => chosen(visitor)).toContain("many/n7");
    await stage.ask("POST", `/v1/reviews/${id}/decision`, { decision: "upheld" });
    await page.getByText("This review is not open any more").waitFor();
    await page.keyboard.press("a");
    expect(await page.getByRole("button", { name: /^Approve/ }).isDisabled()).toBe(true);
    expect(await undecided()).toHaveLength(40);
    expect(visitor.complaints).toEqual([]);
  });

  it("shows every open review, and as many as there are", async () => {
    const count = 1500;
    for (let n = 0; n < count; n += 50) {
      const batch = Array.from({ length: 50 }, (_, at) =>
        escalate(`agent://flood/n${n + at}`, 1e6),
      );
      await Promise.all(batch);
    }
    // A review that a call has opened is listed once the journal has it.
    const readQueue = async () => {
      const route = "/v1/reviews?state=open&limit=10";
      const queue = await stage.ask<{ reviews: unknown[]; total: number }>("GET", route);
      return [queue.reviews.length, queue.total];
    };
    await expect.poll(readQueue).toEqual([10, count]);
    const visitor = await stage.visit("reviews");
    const { page } = visitor;
    const tile = page.locator(".figure", { hasText: "wait for a person" }).locator(".big");
    await expect.poll(() => tile.textContent()).toBe("1,500");
    await page.getByText("Rows 1 to 500 of 1,500 are drawn.").waitFor();
    expect(visitor.complaints).toEqual([]);
  });

  it("shows a dispute as text, shares the report, and decides many with one reason", async () => {
    const again = await holdBack("agent://newcomers/second-look");
    const other = await holdBack("agent://newcomers/third-look");
    const { agent } = again;
    const path = `/v1/agents/${encodeURIComponent(agent)}/report/links`;
    const { token: link } = await stage.ask<ReportLink>("POST", path, {});
    await stage.ask("POST", "/v1/disputes", { link, statement: HOSTILE, contact: "a@b.example" });
    const visitor = await stage.visit("reviews?kind=dispute");
    const { page } = visitor;
    const quote = page.locator("blockquote");
    await quote.waitFor();
    expect(await quote.textContent()).toContain("<img src=x onerror=alert(1)>");
    expect(await quote.textContent()).toContain("\\u{202e}\\u{200b}now");
    expect(await page.locator("main img").count()).toBe(0);
    await page.getByRole("button", { name: "Share the report by a link" }).click();
    const address = await page.locator(".evidence .code pre").textContent();
    const shared = await fetch(address!, { headers: { accept: "text/html" } });
    expect([shared.status, await shared.text()]).toEqual([
      200,
      expect.stringContaining("held back"),
    ]);

    await visitor.go("reviews?kind=held");
    await expect.poll(() => page.locator("tbody tr").count()).toBe(2);
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByRole("button", { name: "Deny 2 = upheld" }).click();
    await page.getByLabel("Reason, kept on record").fill("not in this quarter");
    await page.getByRole("button", { name: "Deny them" }).click();
    await page.getByText("Nothing waits.").waitFor();
    for (const { review } of [again, other]) {
      const decided = await stage.ask<QueuedReview>("GET", `/v1/reviews/${review}`);
      expect(decided).toMatchObject({ decision: "upheld", note: "not in this quarter" });
    }
    expect(visitor.complaints).toEqual([]);
  });

  it("proposes no more for a dispute without stakes than calls that name none", async () => {
    const agent = "agent://newcomers/unpriced";
    const verify = (stakes: object) =>
      stage.ask<VerifyResponse>("POST", "/v1/trust/verify", {
        agent_id: agent,
        action: "payments.transfer",
        tool_level: "L2",
        context: {},
        ...stakes,
      });
    const { request_id: decision } = await verify({});
    await stage.ask("POST", "/v1/disputes", { agent, decision, statement: "please look again" });
    const visitor = await stage.visit("reviews?kind=dispute");
    const { page } = visitor;
    await page.locator("tbody a.agent", { hasText: "unpriced" }).waitFor();
    await page.locator("tbody tr", { hasText: "unpriced" }).click();
    await page.locator("blockquote", { hasText: "please look again" }).waitFor();
    const field = page.getByLabel("Up to stakes");
    expect(await field.inputValue()).toBe("0");
    await page.getByText("0: calls that name no stakes, counted as 7").waitFor();
    const open = (await list("state=open&kind=dispute")).find((each) => each.agent === agent)!;
    expect(open.stakes_max).toBe(0);
    // An empty field is not `any`.
    await field.fill("");
    await field.press("Escape");
    await page.keyboard.press("a");
    await page.getByText("must be an amount, or the word any").waitFor();
    await field.fill("0");
    await field.press("Escape");
    await page.keyboard.press("a");
    await page.getByText("Approved (overturned)").waitFor();
    const decided = await stage.ask<QueuedReview>("GET", `/v1/reviews/${open.id}`);
    expect(decided).toMatchObject({ decision: "overturned", max_stakes: 0 });
    expect((await verify({})).policy_action.verdict).toBe("ALLOW");
    expect((await verify({ stakes: 1e12 })).policy_action.verdict).toBe("CHALLENGE");
  });

  it("keeps proposing the stakes that a review had when it was chosen", async () => {
    const { agent, stakes, review } = await holdBack("agent://newcomers/riser", "L2");
    const visitor = await stage.visit("reviews?kind=held");
    const { page } = visitor;
    const field = page.getByLabel("Up to stakes");
    await expect.poll(() => field.inputValue()).toBe(String(stakes));
    await stage.ask("POST", "/v1/trust/verify", {
      agent_id: agent,
      action: "payments.transfer",
      tool_level: "L2",
      stakes: stakes * 2,
      context: {},
    });
    const tally = new Intl.NumberFormat("en-GB").format(stakes * 2);
    await page.locator(".evidence").getByText(tally, { exact: true }).first().waitFor();
    expect(await field.inputValue()).toBe(String(stakes));
    await page.keyboard.press("a");
    await page.getByText("Approved (overturned)").waitFor();
    const decided = await stage.ask<QueuedReview>("GET", `/v1/reviews/${review}`);
    expect(decided).toMatchObject({ max_stakes: stakes, stakes_max: stakes * 2 });
  });

  it("lists flagged decisions until a reviewer resolves them", async () => {
    const ask = (agent_id: string) =>
      stage.ask<VerifyResponse>("POST", "/v1/trust/verify", {
        agent_id,
        action: "notes.read",
        tool_level: "L1",
        context: {},
      });
    await ask("agent://test/connect");
    await ask("agent://test/refuse");
    const { request_id: hallucinated } = await ask("agent://test/hallucinated");
    const { page, expectSound } = await stage.visit("reviews?view=flagged");
    const rows = page.locator("tbody tr");
    await expect.poll(() => rows.locator("a.agent").allTextContents()).toHaveLength(2);
    await rows.getByText("HALLUCINATION_SIGNAL").waitFor();
    await expectSound("reviews-flagged");
    const row = rows.filter({ hasText: "test/hallucinated" });
    await row.getByRole("button", { name: "Dismiss" }).click();
    await expect.poll(() => rows.locator("a.agent").allTextContents()).toEqual(["test/refuse"]);
    const { reviews } = await stage.ask<{ reviews: Record<string, unknown>[] }>(
      "GET",
      "/v1/reviews",
    );
    expect(reviews.find((each) => each["request_id"] === hallucinated)).toMatchObject({
      verdict: "ALLOW",
      resolution: "dismissed",
    });
  });

  it("shows what was decided, by whom, and how often by rule", async () => {
    for (const [name, decision] of [
      ["night-buyer", "overturned"],
      ["courier", "upheld"],
    ] as const) {
      const { review } = await holdBack(`agent://newcomers/${name}`, "L2");
      const until = Date.now() + 86_400_000;
      const bound = decision === "overturned" ? { max_stakes: "any" } : {};
      await stage.ask("POST", `/v1/reviews/${review}/decision`, { decision, until, ...bound });
    }
    const visitor = await stage.visit("reviews?view=decided");
    const { page, expectSound } = visitor;
    await page.getByText("overturned").first().waitFor();
    const all = await list("state=decided&limit=1000");
    await expect
      .poll(async () => {
        await page.reload();
        await page.locator(".figure .big").first().waitFor();
        return Number(await page.locator(".figure .big").first().textContent());
      })
      .toBe(all.length);
    await expectSound("reviews-decided");
  });
});
