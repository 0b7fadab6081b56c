// Process of an open loop: takes a plan by message and sends back what became of it, so that neither the
// bench's own work nor that of another loop makes its requests late. `stop` ends a plan early.
import { OpenLoop, type Plan } from "./open-loop.ts";

let loop: OpenLoop | undefined;

process.on("message", (message: Plan | "stop") => {
  if (message === "stop") {
    loop?.stop();
    return;
  }
  loop = new OpenLoop(message);
  loop.run().then(
    (offered) => process.send?.({ offered }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
