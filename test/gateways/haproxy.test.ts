// HAProxy as a gateway, with the example configuration and the Lua file that the package ships.
import { describeProgram } from "./_program.ts";

describeProgram("haproxy");
