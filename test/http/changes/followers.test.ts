// Followers of changes on one thread, and the changes that it keeps: what each tenant reads, where it resumes,
// and what becomes of those that do not read.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CHANGE_EVENTS_UNREAD_MAX,
  CHANGE_FOLLOWERS_PER_TENANT_MAX,
  ChangeFollowers,
} from "../../../src/http/changes/followers.ts";
import {
  type AnnouncedChange,
  ChangeLog,
  CHANGES_KEPT_MAX,
} from "../../../src/http/changes/log.ts";

const JOURNAL = "0a1b2c3d";
const ACME = { tenant: "acme", keyId: "k1" };
const EVIL = { tenant: "evil", keyId: "k2" };

const change = (position: number, tenant: string | null = null): AnnouncedChange => ({
  position,
  tenant,
  json: `{"n":${position}}`,
});
const at = (position: number) => `${JOURNAL}-${position}`;

function open(isKeyValid: (keyId: string) => boolean = () => true) {
  const followers = new ChangeFollowers(isKeyValid);
  followers.apply({ journal: JOURNAL, changes: [], head: 10, from: 5 });
  const announce = (changes: AnnouncedChange[], head: number) =>
    followers.apply({ journal: JOURNAL, changes, head });
  return { followers, announce };
}

const positionsIn = (text: string) => [...text.matchAll(/"n":(\d+)/g)].map(([, n]) => Number(n));
const read = async (stream: { next(): Promise<Uint8Array | undefined> }) =>
  Buffer.from((await stream.next()) ?? []).toString();

describe("followers of changes", () => {
  it("reads its tenant's changes and those of all, and a heartbeat with the position", async () => {
    const { followers, announce } = open();
    const streams = [followers.openStream(ACME, null), followers.openStream(EVIL, null)];
    for (const stream of streams) expect(await read(stream)).toContain(`id: ${at(10)}`);
    announce([change(11, "acme"), change(12), change(13, "evil")], 13);
    const seen = [];
    for (const stream of streams) seen.push(positionsIn(await read(stream)));
    expect(seen).toEqual([
      [11, 12],
      [12, 13],
    ]);
    announce([], 14);
    expect(await read(streams[0]!)).toBe(
      `id: ${at(14)}\nevent: heartbeat\ndata: {"position":"${at(14)}"}\n\n`,
    );
  });

  it("an event's id skips no change that is announced later", async () => {
    const { followers, announce } = open();
    const stream = followers.openStream(ACME, null);
    await read(stream);
    announce([change(12)], 10);
    expect(await read(stream)).toContain(`id: ${at(10)}\nevent: change`);
    announce([change(11)], 12);
    expect(positionsIn(await read(followers.openStream(ACME, at(10))))).toEqual([11, 12]);
  });

  it("a thousand followers all get a change, and leave nothing behind", async () => {
    const { followers, announce } = open();
    const streams = Array.from({ length: 1000 }, () => followers.openStream(ACME, null));
    await Promise.all(streams.map(read));
    expect(followers.count).toBe(1000);
    announce([change(11, "acme")], 11);
    const seen = await Promise.all(streams.map(read));
    expect(new Set(seen).size).toBe(1);
    expect(positionsIn(seen[0]!)).toEqual([11]);
    for (const stream of streams) stream.cancel();
    expect(followers.count).toBe(0);
  });

  it("cuts a follower that does not read, and goes on with the others", async () => {
    const { followers, announce } = open();
    const [slow, other] = [followers.openStream(ACME, null), followers.openStream(ACME, null)];
    for (let position = 11; position <= 11 + CHANGE_EVENTS_UNREAD_MAX; position++) {
      announce([change(position)], position);
      await read(other);
    }
    await expect(slow.next()).rejects.toThrow("too slowly");
    expect(followers.count).toBe(1);
  });

  it("ends the stream of a key that is no longer valid, and all streams when it drains", async () => {
    let isValid = true;
    const { followers, announce } = open((keyId) => keyId !== ACME.keyId || isValid);
    const [acme, evil] = [followers.openStream(ACME, null), followers.openStream(EVIL, null)];
    await Promise.all([read(acme), read(evil)]);
    isValid = false;
    announce([], 11);
    expect(await acme.next()).toBeUndefined();
    expect(await read(evil)).toContain("heartbeat");
    const waiting = followers.waitForChange(EVIL, 60_000);
    followers.endAll();
    expect(await evil.next()).toBeUndefined();
    await waiting;
    expect(followers.count).toBe(0);
  });

  it("one tenant leaves room for others", () => {
    const { followers } = open();
    for (let count = 0; count < CHANGE_FOLLOWERS_PER_TENANT_MAX; count++)
      followers.openStream(ACME, null);
    expect(() => followers.openStream(ACME, null)).toThrow("too many");
    followers.openStream(EVIL, null);
  });

  it("a position before the oldest kept change, ahead, or of another journal is gone", () => {
    const { followers, announce } = open();
    const goneAt = (since: string) => {
      expect(() => followers.openStream(ACME, since)).toThrow(
        expect.objectContaining({ code: "change_position_gone" }),
      );
    };
    for (const since of [at(4), at(11), "ffffffff-7"]) goneAt(since);
    followers.openStream(ACME, at(5));
    const many = Array.from({ length: CHANGES_KEPT_MAX + 1 }, (_, index) => change(11 + index));
    announce(many, 11 + CHANGES_KEPT_MAX);
    goneAt(at(10));
    followers.openStream(ACME, at(11));
    expect(() => followers.openStream(ACME, "11")).toThrow(
      expect.objectContaining({ code: "invalid_parameter" }),
    );
  });
});

describe("the kept changes", () => {
  it("in pages from any position, no change is missed, whatever the order of announcement", () => {
    const order = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1 });
    fc.assert(
      fc.property(
        order,
        fc.integer({ min: 0, max: 60 }),
        fc.integer({ min: 1, max: 7 }),
        (positions, since, size) => {
          const log = new ChangeLog();
          log.apply({ journal: JOURNAL, changes: [], head: 0, from: 0 });
          const left = new Set(positions);
          for (const position of positions) {
            left.delete(position);
            const head = left.size === 0 ? 60 : Math.min(...left) - 1;
            log.apply({
              journal: JOURNAL,
              changes: [change(position, position % 3 ? null : "evil")],
              head,
            });
          }
          const seen: number[] = [];
          for (let after = since; after < 60;) {
            const page = log.read(after, "acme", size);
            seen.push(...page.changes.map(({ position }) => position));
            expect(page.end).toBeGreaterThan(after);
            after = page.end;
          }
          const expected = positions.filter((each) => each > since && each % 3 !== 0);
          expect(seen).toEqual(expected.toSorted((one, other) => one - other));
        },
      ),
    );
  });
});
