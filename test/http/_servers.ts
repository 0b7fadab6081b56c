// Runs a suite over both servers, each with one service from its first test to its last: the
// beginning and the end of most suites of the HTTP layer.
import { afterAll, beforeAll } from "vitest";
import { type AdapterName, describeAdapters, openTestServer, type TestServer } from "./_setup.ts";

/** A request id as the service makes them. */
export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The same suite over every adapter, each with a service that opens before its first test. */
export function describeServers(
  name: string,
  suite: (service: TestServer, adapter: AdapterName) => void,
): void {
  describeAdapters(name, (adapter) => {
    // Filled before the tests run: tests may read it, the suite itself may not.
    const service = {} as TestServer;
    beforeAll(async () => {
      Object.assign(service, await openTestServer(adapter));
    });
    afterAll(() => service.stop?.());
    suite(service, adapter);
  });
}
