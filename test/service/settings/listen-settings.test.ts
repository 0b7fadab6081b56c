// Addresses of the service: one list of an address and sockets.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseServeConfig } from "../../../src/service/settings/config.ts";
import { listenAddressesKind } from "../../../src/service/settings/listen-settings.ts";
import { InvalidSetting } from "../../../src/service/settings/settings.ts";

const flags = { sample: true };

describe("a list of addresses", () => {
  test("has one with a port, and sockets", () => {
    expect(listenAddressesKind.read("127.0.0.1:80, unix:/run/a.sock,unix:///run/b")).toEqual({
      tcp: { host: "127.0.0.1", port: 80 },
      sockets: ["/run/a.sock", "/run/b"],
    });
    expect(listenAddressesKind.read("unix:/a")).toEqual({ tcp: undefined, sockets: ["/a"] });
    expect(listenAddressesKind.read("[::1]:0")).toEqual({
      tcp: { host: "::1", port: 0 },
      sockets: [],
    });
  });

  test.each([
    ["", "`` is not an address"],
    ["unix:", "`unix:` is no absolute path"],
    ["unix:run/a", "`unix:run/a` is no absolute path"],
    ["unix:/run/", "is no path of a file"],
    ["unix:/a,unix:/a", "is named twice"],
    ["a:1,b:2", "`b:2` is a second address"],
    ["127.0.0.1", "`127.0.0.1` is not an address"],
    [`unix:/${"x".repeat(107)}`, "is 1 bytes too long: the system takes at most 107"],
    [
      Array.from({ length: 9 }, (_, index) => `unix:/${index}`).join(","),
      "9 sockets are more than 8",
    ],
  ])("refuses `%s` in a sentence", (text, sentence) => {
    expect(() => listenAddressesKind.read(text)).toThrow(RangeError);
    expect(() => listenAddressesKind.read(text)).toThrow(sentence);
  });

  test("is read or refused with a sentence, whatever it is (property)", () => {
    const piece = fc.oneof(
      fc.constantFrom("unix:", "/run/s", ":80", "[::1]", ",", "host"),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        try {
          const { sockets } = listenAddressesKind.read(pieces.join(""));
          expect(sockets.every((path) => path.startsWith("/") && path.length < 108)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});

describe("settings of serve", () => {
  test("take the list in place of host and port", () => {
    const environment = {
      TRUSTRANK_HOST: "0.0.0.0",
      TRUSTRANK_PORT: "9",
      TRUSTRANK_LISTEN: "unix:/a",
    };
    expect(parseServeConfig(flags, environment)).toMatchObject({
      isTcpWanted: false,
      sockets: { paths: ["/a"], mode: 0o660, group: undefined },
    });
    const both = {
      ...flags,
      listen: "[::]:81,unix:/a",
      socketMode: "0600",
      socketGroup: "www-data",
    };
    expect(parseServeConfig(both, environment)).toMatchObject({
      host: "::",
      port: 81,
      isTcpWanted: true,
      sockets: { paths: ["/a"], mode: 0o600, group: "www-data" },
    });
  });

  test("refuse what says two things", () => {
    const listen = "unix:/a";
    const twice = () => parseServeConfig({ ...flags, listen, port: "80" }, {});
    expect(twice).toThrow("leave --host and --port out");
    const threads = () => parseServeConfig({ ...flags, listen }, { TRUSTRANK_HTTP_THREADS: "2" });
    expect(threads).toThrow("several HTTP threads share a port: --listen has none");
  });

  // 432, 384 and 511 are what YAML makes of 0o660, 0o600 and 0o777.
  test.each(["432", "384", "511", "0o660", "066", "888", "0560", ""])(
    "know no mode `%s`",
    (text) => {
      const config = () => parseServeConfig({ ...flags, socketMode: text }, {});
      expect(config).toThrow(InvalidSetting);
      expect(config).toThrow("--socket-mode");
    },
  );
});
