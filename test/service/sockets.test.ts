// Groups of sockets, by the system's own list.
import { expect, test } from "vitest";
import { CommandFailure } from "../../src/service/failure.ts";
import { resolveGroupId } from "../../src/service/sockets.ts";

const GROUPS = () => "root:x:0:\nwww-data:x:33:\nbroken\nalso:x:no:\n";

test("a group is found by name or taken by number", () => {
  expect([resolveGroupId("www-data", GROUPS), resolveGroupId("70", GROUPS)]).toEqual([33, 70]);
  expect(resolveGroupId("root")).toBe(0);
});

test.each(["www", "broken", "also"])("`%s` is none", (name) => {
  expect(() => resolveGroupId(name, GROUPS)).toThrow(CommandFailure);
  expect(() => resolveGroupId(name, GROUPS)).toThrow(`there is no group \`${name}\``);
});
