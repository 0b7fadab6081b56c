// Caddy as a gateway, with the example configuration that the package ships.
import { describeOnNodes } from "./_on-nodes.ts";
import { describeProgram } from "./_program.ts";

describeOnNodes("caddy");
describeProgram("caddy");
