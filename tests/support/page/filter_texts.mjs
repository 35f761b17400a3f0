// Writes filters as the page does: reads JSON `[[field, value, negated, filter], …]`, answers `[[condition, filter], …]`.
import { readFileSync } from "node:fs";
import { addCondition, writeEquality } from "../../../api/web/source/explore/filter/condition.js";

const answers = JSON.parse(readFileSync(0, "utf8")).map(([field, value, negated, filter]) => {
  const condition = writeEquality(field, value, negated);
  return [condition, addCondition(filter, condition)];
});
process.stdout.write(JSON.stringify(answers));
