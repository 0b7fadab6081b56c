// HAProxy as a gateway, with the example configuration and the Lua file that the package ships.
import { describeOnNodes } from "./_on-nodes.ts";
import { describeProgram } from "./_program.ts";

describeOnNodes("haproxy");
describeProgram("haproxy");
