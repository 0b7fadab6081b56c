// Assessment of content and citations in a verify: exact findings first, doubt from the text second,
// and nothing that the tenant may not read.
import { createHash } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";

import type { VerifyContext } from "../../../src/contract/schemas/scores.ts";
import { emptyVaultAssessor } from "../../../src/bureau/decisions/provenance.ts";
import { INLINE_WORK_UNITS_MAX, VaultAssessor } from "../../../src/vault/assessment/assessor.ts";
import { DeferringAssessor } from "../../../src/vault/assessment/deferring-assessor.ts";
import { ACME, ADMIN, BRIDGE, itemOf, NOW, openVault, RIVAL } from "../_setup.ts";

const hashOf = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

const FALSE_CLAIM =
  "Scientists at the northern institute confirmed in a secret paper that drinking two litres of " +
  "salt water every morning cures the common cold within a day for nine patients out of ten.";
const GOOD = "John Bradfield led the project. The Harbour Bridge was opened on 19 March 1932.";
const BAD =
  "The Harbour Bridge was opened on 4 July 1951 by Margaret Thornbury. It collapsed in 1963 " +
  "during the Great Tasman Hurricane, killing 312 passengers of the Wollongong Express.";
const ELSEWHERE =
  "Photosynthesis converts carbon dioxide into glucose inside chloroplasts of green leaves.";

const { vault, assessor } = openVault();
const assess = (context: VerifyContext, tenant = "acme") => assessor.assess(context, tenant);

beforeAll(async () => {
  await vault.register(
    [
      itemOf("bridge", BRIDGE),
      itemOf("digest-only", "", { sha256: hashOf("kept elsewhere") }),
      itemOf("gone", "A page that was taken back."),
      itemOf("hoax", FALSE_CLAIM, { state: "recorded_false" }),
      itemOf("pulled", "A paper that was retracted by its authors.", { state: "retracted" }),
    ].map((item) => {
      if (item.source_id === "digest-only") delete item.text;
      return item;
    }),
    ACME,
  );
  await vault.register([itemOf("law", BRIDGE, { visibility: "public" })], ADMIN);
  await vault.revoke("gone", ACME);
});

describe("exact findings", () => {
  it.each<[string, VerifyContext, string, { hard: boolean; hallucinated: boolean }]>([
    ["nothing given", {}, "PROVENANCE_NOT_ASSESSED", { hard: false, hallucinated: false }],
    ["no sources", { content: "x" }, "NO_SOURCES", { hard: false, hallucinated: false }],
    [
      "every source unknown",
      { cited_sources: ["nowhere", "elsewhere"] },
      "SOURCE_UNKNOWN",
      { hard: false, hallucinated: false },
    ],
    [
      "one source unknown",
      { cited_sources: ["bridge", "nowhere"] },
      "SOURCE_UNKNOWN",
      { hard: false, hallucinated: false },
    ],
    [
      "an identifier that cannot exist",
      { cited_sources: ["bridge", "isbn:978-0-306-40615-8"] },
      "SOURCE_MALFORMED",
      { hard: true, hallucinated: false },
    ],
    [
      "revoked",
      { cited_sources: ["gone"] },
      "SOURCE_REVOKED",
      { hard: false, hallucinated: false },
    ],
    [
      "retracted",
      { cited_sources: ["bridge", "pulled"] },
      "SOURCE_RETRACTED",
      { hard: false, hallucinated: false },
    ],
    [
      "a source recorded as false",
      { cited_sources: ["bridge", "hoax"] },
      "SOURCE_RECORDED_FALSE",
      { hard: true, hallucinated: false },
    ],
    [
      "content recorded as false, by digest alone",
      { content_hash: hashOf(FALSE_CLAIM), cited_sources: ["bridge"] },
      "CONTENT_RECORDED_FALSE",
      { hard: true, hallucinated: true },
    ],
  ])("%s", (_name, context, code, { hard, hallucinated }) => {
    const { data, reasonCode, hardFailureCode } = assess(context);
    expect({ reasonCode, hardFailureCode }).toEqual({
      reasonCode: code,
      hardFailureCode: hard ? code : "",
    });
    expect(data.is_hallucinated).toBe(hallucinated);
    expect(data.source_verified).toBe(false);
  });

  it("verifies sources that are registered and active, with or without a text", () => {
    const { data, reasonCode } = assess({ cited_sources: ["bridge", "digest-only", "law"] });
    expect(data).toMatchObject({ source_verified: true, is_hallucinated: false });
    expect(reasonCode).toBe("GROUNDING_NOT_EVALUATED");
    expect(data.sources).toEqual(
      ["bridge", "digest-only", "law"].map((id) => ({ id, status: "SOURCE_VERIFIED" })),
    );
  });

  it.each<[string, VerifyContext]>([
    ["without sources", {}],
    ["under a verified source", { cited_sources: ["bridge"] }],
    ["under unknown sources", { cited_sources: ["nowhere", "elsewhere"] }],
    ["under one unknown source", { cited_sources: ["bridge", "nowhere"] }],
    ["under a revoked source", { cited_sources: ["gone"] }],
  ])("says of a text known by its hash alone that it was not checked, %s", (name, context) => {
    const unseen = /only the content_hash of the text; the text itself was not checked\.$/;
    const empty = openVault().assessor;
    const text = `A text of its own, ${name}.`;
    const content_hash = hashOf(text);
    for (const each of [assessor, empty]) {
      const before = each.assess(context, "acme").data;
      const alone = each.assess({ ...context, content_hash }, "acme").data;
      expect(alone.reason).toMatch(unseen);
      expect(alone.source_verified).toBe(before.source_verified);
      // The constant findings are shared: none keeps the sentence.
      expect(each.assess(context, "acme").data.reason).not.toMatch(unseen);
      const shown = each.assess({ ...context, content_hash, content: text }, "acme").data;
      expect(shown.reason).not.toMatch(unseen);
    }
    const registered = assess({ content_hash: hashOf(BRIDGE), cited_sources: ["bridge"] });
    expect(registered.data.reason, "the source itself").not.toMatch(unseen);
  });

  it("doubts a near copy of what is recorded as false, and does not call it false", () => {
    const near = `${FALSE_CLAIM} Share this.`;
    const { data, softFailureCode } = assess({ content: near, cited_sources: ["digest-only"] });
    expect(softFailureCode).toBe("CONTENT_NEAR_RECORDED_FALSE");
    expect(data.is_hallucinated).toBe(false);
    const other = assess({ content: near, cited_sources: ["law"] }, RIVAL.tenant);
    expect(other.softFailureCode).not.toBe("CONTENT_NEAR_RECORDED_FALSE");
  });

  it("notices the same content under other sources", () => {
    const content_hash = hashOf("a text of its own");
    expect(assess({ content_hash, cited_sources: ["bridge"] }).softFailureCode).toBe("");
    expect(assess({ content_hash, cited_sources: ["bridge"] }).softFailureCode).toBe("");
    const changed = assess({ content_hash, cited_sources: ["law"] });
    expect(changed.softFailureCode).toBe("CITATIONS_CHANGED");
  });

  it("remarks that a source was registered anew after the content was first seen", async () => {
    let now = NOW;
    const moving = openVault({ clock: () => now });
    await moving.vault.register([itemOf("page", BRIDGE)], ACME);
    const context = { content_hash: hashOf("an old report"), cited_sources: ["page"] };
    now += 1000;
    expect(moving.assessor.assess(context, "acme").reasonCode).toBe("GROUNDING_NOT_EVALUATED");
    now += 60_000;
    expect(moving.assessor.assess(context, "acme").reasonCode).toBe("GROUNDING_NOT_EVALUATED");
    await moving.vault.register([itemOf("page", `${BRIDGE} New.`)], ACME);
    const { reasonCode, softFailureCode, data } = moving.assessor.assess(context, "acme");
    // A remark, not a doubt: pages are updated, and reports outlive them.
    expect({ reasonCode, softFailureCode }).toEqual({
      reasonCode: "SOURCE_NEWER",
      softFailureCode: "",
    });
    expect(data).toMatchObject({ source_verified: true, is_hallucinated: false });
    await moving.vault.register([itemOf("page-2", BRIDGE)], ACME);
    const swapped = { ...context, cited_sources: ["page-2"] };
    const changed = moving.assessor.assess(swapped, "acme");
    expect(changed.softFailureCode).toBe("CITATIONS_CHANGED");
    expect(changed.data.reason).toContain("`page-2` was registered after the content");
  });
});

describe("the text", () => {
  it("lets a supported text pass, and does not call it true", () => {
    const { data, reasonCode, penalty } = assess({ content: GOOD, cited_sources: ["bridge"] });
    expect({ reasonCode, penalty }).toEqual({ reasonCode: "", penalty: 0 });
    expect(data.reason).toContain("does not prove it true");
  });

  it("names the sentence and the first number that no source holds", () => {
    const finding = assess({ content: `${GOOD} ${BAD}`, cited_sources: ["bridge"] });
    expect(finding).toMatchObject({
      reasonCode: "UNSUPPORTED_CONTENT",
      softFailureCode: "UNSUPPORTED_CONTENT",
      hardFailureCode: "",
    });
    expect(finding.penalty).toBeGreaterThan(0.5);
    expect(finding.data.reason).toMatch(/^Sentence \d is not supported .* number .* `\d+`\.$/);
  });

  it("calls a page that speaks of something else a mismatch", () => {
    const finding = assess({ content: ELSEWHERE, cited_sources: ["bridge"] });
    expect(finding.hardFailureCode).toBe("CITATION_MISMATCH");
    expect(finding.data.is_hallucinated).toBe(true);
    expect(finding.data.sources).toEqual([{ id: "bridge", status: "CITATION_MISMATCH" }]);
  });

  it("quotes the caller's text only: nothing of the evidence leaves the vault", () => {
    const words = new Set(BRIDGE.match(/\p{L}{4,}|\d+/gu));
    for (const content of [BAD, ELSEWHERE, `${ELSEWHERE} ${BAD}`]) {
      for (const cited_sources of [["bridge"], ["law"]]) {
        const { reason } = assess({ content, cited_sources }).data;
        const said = reason.match(/\p{L}{4,}|\d+/gu) ?? [];
        const isOwn = (word: string) => content.includes(word) || cited_sources.includes(word);
        const leaked = said.filter((word) => words.has(word) && !isOwn(word));
        expect(leaked).toEqual([]);
      }
    }
  });

  it("does not see another tenant's source", () => {
    const { data } = assess({ content: GOOD, cited_sources: ["bridge"] }, RIVAL.tenant);
    expect(data.sources).toEqual([{ id: "bridge", status: "SOURCE_UNKNOWN" }]);
  });

  it("reports what is too large to be scored in place as not assessed", () => {
    const content = `${GOOD} `.repeat(Math.ceil(INLINE_WORK_UNITS_MAX / GOOD.length));
    const finding = assess({ content, cited_sources: ["bridge", "law"] });
    expect(finding.reasonCode).toBe("PROVENANCE_NOT_ASSESSED");
    expect(finding.data).toMatchObject({ is_hallucinated: false, source_verified: true });
  });
});

describe("a text too large for the reply's callback", () => {
  const content = `${GOOD} ${BAD} `.repeat(Math.ceil(INLINE_WORK_UNITS_MAX / GOOD.length));
  const context = { content, cited_sources: ["bridge"] };
  const small = { content: GOOD, cited_sources: ["bridge"] };
  const elsewhere = new VaultAssessor(vault.memory, () => NOW, Number.POSITIVE_INFINITY);

  it("is scored on another thread when that answers in time", async () => {
    const deferring = new DeferringAssessor(assessor, (given, tenant) =>
      Promise.resolve(elsewhere.assess(given, tenant)),
    );
    expect(await deferring.assess(context, "acme")).toMatchObject({
      reasonCode: "UNSUPPORTED_CONTENT",
    });
    expect(deferring.assess(small, "acme")).not.toBeInstanceOf(Promise);
  });

  it.each([
    ["late", () => new Promise<never>(() => undefined)],
    ["refused", () => Promise.reject(new Error("the pool is full"))],
  ])("is not assessed when that is %s, with the exact findings kept", async (_name, later) => {
    const finding = await new DeferringAssessor(assessor, later, 5).assess(context, "acme");
    expect(finding.reasonCode).toBe("PROVENANCE_NOT_ASSESSED");
    expect(finding.data).toMatchObject({ source_verified: true, is_hallucinated: false });
  });
});

describe("sources that are not registered", () => {
  const empty = openVault().assessor;
  const unregistered: [string, VerifyContext][] = [
    ["one", { cited_sources: ["anything"] }],
    ["several", { cited_sources: ["anything", "https://example.org/a", "doi:10.1000/182"] }],
    ["of an unusual form", { cited_sources: ["http://10.0.0.1/internal"] }],
    ["beside a text", { content: BAD, cited_sources: ["anything"] }],
    ["beside a digest", { content_hash: hashOf(BAD), cited_sources: ["anything"] }],
  ];

  it.each(unregistered)("draw no doubt and no accusation: %s", (_name, context) => {
    const { data, ...finding } = assess(context);
    expect(finding).toEqual({
      reasonCode: "SOURCE_UNKNOWN",
      hardFailureCode: "",
      softFailureCode: "",
      penalty: 0,
    });
    expect(data).toMatchObject({ source_verified: false, is_hallucinated: false });
  });

  it.each(unregistered)("are answered the same whatever the vault holds: %s", (_name, context) => {
    const answer = assess(context);
    expect(empty.assess(context, "acme")).toEqual(answer);
    const { data, ...finding } = emptyVaultAssessor.assess(context);
    expect(finding).toEqual({ reasonCode: "SOURCE_UNKNOWN", hardFailureCode: "" });
    expect(data.reason).toBe(answer.data.reason);
    expect(data.is_hallucinated).toBe(false);
    expect(data.source_verified).toBe(false);
  });

  it("draw no doubt beside registered ones either", () => {
    const finding = assess({ cited_sources: ["bridge", "nowhere"] });
    expect(finding).toMatchObject({ reasonCode: "SOURCE_UNKNOWN", softFailureCode: "" });
    expect(finding.data).toMatchObject({ source_verified: false, is_hallucinated: false });
  });
});
