// Reads the ends of answers as the page does: reads JSON `[[format, base64], …]`, answers `[status or null, …]`.
import { readFileSync } from "node:fs";
import { readStatus } from "../../../api/web/source/explore/answer_end.js";

const ends = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(ends.map(([format, text]) => readStatus(format, Buffer.from(text, "base64")))));
