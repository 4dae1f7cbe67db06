// The corpus over HTTP against graphql_conformance_server.
//
//   node corpus.mjs SERVER CASES.JSONL
import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';

const [server, path] = process.argv.slice(2);
const child = spawn(server, ['--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
const { url } = JSON.parse(await new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve)));
let passed = 0;
let failed = 0;
try {
  if (!(await fetch(`${url}/health`)).ok) throw new Error('/health does not answer 200');
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const { schema, cases } = JSON.parse(line);
    for (const { id, query, variables, expect } of cases) {
      const response = await fetch(`${url}/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ schema, query, variables, operationName: null }),
      });
      const result = await response.json();
      const rightErrors = (expect.errors.length > 0) === ((result.errors ?? []).length > 0);
      if (rightErrors && isDeepStrictEqual(result.data ?? null, expect.data ?? null)) {
        ++passed;
      } else {
        ++failed;
        console.log(`${id}: ${JSON.stringify(result).slice(0, 500)}`);
      }
    }
  }
} finally {
  child.kill('SIGTERM');
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed || !passed ? 1 : 0;
