// Which of the SNS messages of a file the npm package sns-validator takes: [true,false,..] on standard output.
//   node sns_validator.mjs MESSAGES.json HOST_PATTERN
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.FANFARE_NODE_MODULES, "anything"));
const MessageValidator = require("sns-validator");
const [, , file, pattern] = process.argv;
const validator = new MessageValidator(new RegExp(pattern));
const verdicts = [];
for (const message of JSON.parse(readFileSync(file, "utf8")))
  verdicts.push(await new Promise((resolve) => validator.validate(message, (error) => resolve(!error))));
console.log(JSON.stringify(verdicts));
