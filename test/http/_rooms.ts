// Test server for a whole suite, over both adapters: the common beginning and end of most HTTP
// suites.
import { afterAll, beforeAll } from "vitest";
import { type AdapterName, describeAdapters, openTestServer, type TestServer } from "./_setup.ts";

/** A request id as the service makes them. */
export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The same suite over every adapter, each with a room that opens before its first test. */
export function describeRooms(
  name: string,
  suite: (room: TestServer, adapter: AdapterName) => void,
): void {
  describeAdapters(name, (adapter) => {
    // Filled before the tests run: tests may read it, the suite itself may not.
    const room = {} as TestServer;
    beforeAll(async () => {
      Object.assign(room, await openTestServer(adapter));
    });
    afterAll(() => room.stop?.());
    suite(room, adapter);
  });
}
