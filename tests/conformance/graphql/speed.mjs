// Speed against graphql-js on the same queries, in the same run: parse, validate, execute; small, medium, introspection.
//
//   node speed.mjs TOOL [WANTED=10] [RESULTS.md]
//
// Each side answers every field by its type (wiring.h). graphql-js's execution ends with the response as text, as ours does.
import { execSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import os from 'node:os';
import * as js from 'graphql';
import { Tool, wireSchema } from './differential.mjs';

const sdl = `
type Query { user(id: ID!): User users(first: Int = 10, filter: Filter): [User!]! node(id: ID!): Node search(text: String!): [Result!]! }
type Mutation { rename(id: ID!, name: String!): User }
interface Node { id: ID! }
union Result = User | Post
enum Role { ADMIN EDITOR READER }
input Filter { role: Role, name: String, age: Range, tags: [String!] }
input Range { min: Int = 0, max: Int }
type User implements Node { id: ID! name: String! email: String role: Role age: Int active: Boolean! score: Float friends(first: Int = 2): [User!]! posts(first: Int, after: String): PostPage! }
type PostPage { items: [Post!]! cursor: String total: Int! }
type Post implements Node { id: ID! title: String! body: String author: User! comments: [Comment!]! tags: [String!]! }
type Comment implements Node { id: ID! text: String! author: User! likes: Int! }
`;

const queries = {
  small: { query: 'query Small($id: ID!) { user(id: $id) { id name email } }', variables: { id: '7' } },
  medium: {
    query: `
query Medium($first: Int = 5, $filter: Filter, $deep: Boolean!) {
  users(first: $first, filter: $filter) {
    ...Person
    friends(first: 3) { ...Person friends { id name role } }
    posts(first: 10, after: "abc") {
      total
      cursor
      items {
        id
        title
        body
        tags
        author { ...Person }
        comments @include(if: $deep) { id text likes author { id name } }
      }
    }
  }
  search(text: "graphql") {
    __typename
    ... on User { id name active }
    ... on Post { id title author { id } }
  }
  node(id: "1") { id ... on User { name score } ... on Comment { text } }
}
fragment Person on User { id name email role age active score }`,
    variables: { filter: { role: 'ADMIN', age: { max: 40 }, tags: ['a', 'b'] }, deep: true },
  },
  introspection: { query: js.getIntrospectionQuery(), variables: {} },
};

// Rounds take turns, so that whatever else the machine does meets both sides alike; each side's figure is the median of its
// rounds. A round's time is the smaller of wall time and the process's processor time: the first is too long on a busy
// machine, the second where a garbage collector has threads of its own. Each round repeats the step for about `kRound`;
// before the first, each side runs `kWarm` unmeasured.
const kRounds = 15;
const kRound = 20e6; // ns
const kWarm = 1e9;

const now = () => Number(process.hrtime.bigint());
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

/// A side that repeats `work` in this process.
function here(work) {
  return async (count) => {
    const before = process.cpuUsage();
    const start = now();
    for (let i = 0; i < count; ++i) work();
    const wall = now() - start;
    const { user, system } = process.cpuUsage(before);
    return { ns: wall / count, cpu: ((user + system) * 1000) / count };
  };
}

async function compare(sides) {
  const counts = [];
  for (const side of sides) {
    let count = 16;
    const start = now();
    let last;
    do {
      last = await side(count);
      count = Math.min(2 * count, Math.max(1, Math.ceil(kRound / last.ns)));
    } while (now() - start < kWarm);
    counts.push(count);
  }
  const answers = sides.map(() => []);
  for (let round = 0; round < kRounds; ++round) {
    for (const [i, side] of sides.entries()) answers[i].push(await side(counts[i]));
  }
  return answers.map((list) => ({ ...list.at(-1), ns: median(list.map((answer) => Math.min(answer.ns, answer.cpu))) }));
}

const [path, wanted = '10', results] = process.argv.slice(2);
const tool = new Tool(path);
const schema = wireSchema(js.buildSchema(sdl));
await tool.ask({ schema: sdl });
let passed = 0;
let failed = 0;
const rows = [];
const hostileRows = [];
const judge = (ok) => (ok ? ++passed : ++failed);
const microseconds = (ns) => (ns / 1000).toFixed(2);
console.log('query         step      graphql-js us    ours us   ratio');
for (const [name, { query, variables }] of Object.entries(queries)) {
  const document = js.parse(query);
  const theirs = {
    // Without locations, which ours keeps all the same: the faster of graphql-js's two ways.
    parse: () => js.parse(query, { noLocation: true }),
    validate: () => js.validate(schema, document),
    execute: () => JSON.stringify(js.executeSync({ schema, document, variableValues: variables })),
  };
  for (const step of Object.keys(theirs)) {
    const ours = (rounds) => tool.ask({ bench: query, variables, step, rounds });
    const [a, b] = await compare([here(theirs[step]), ours]);
    const ratio = a.ns / b.ns;
    judge(ratio >= Number(wanted));
    rows.push([name, step, microseconds(a.ns), microseconds(b.ns), ratio.toFixed(1)]);
    console.log(`${name.padEnd(13)} ${step.padEnd(9)} ${microseconds(a.ns).padStart(13)} ${microseconds(b.ns).padStart(10)} ${ratio.toFixed(1).padStart(7)}`);
    if (step !== 'execute') continue;
    const each = b.allocations / b.fields;
    judge(each <= 0.1);
    rows.push([name, 'allocations a field', '', each.toFixed(4), '']);
    console.log(`${name.padEnd(13)} ${b.fields} fields, ${b.bytes} bytes, ${each.toFixed(4)} allocations a field`);
  }
}

// Documents made to be slow: refused or prepared within 50 ms of processor time each.
const numbered = (count, text) => Array.from({ length: count }, (_, i) => text(i)).join(' ');
const person = (inside) => `{ user(id: 1) { ${inside} } }`;
const chain = (count, body) => numbered(count, (i) => `fragment F${i} on User { ${body(i, (i + 1) % count)} }`);
const hostile = {
  'a megabyte of nesting': '{a'.repeat(500_000),
  'a megabyte of lists': `{ user(id: ${'['.repeat(1_000_000)}`,
  'a megabyte of white space, then errors': `{${' '.repeat(900_000)}${numbered(5000, (i) => `x${i}`)} }`,
  'ten thousand aliases': person(numbered(10_000, (i) => `a${i}: name`)),
  'twenty thousand equal fields': person('name '.repeat(20_000)),
  'equal composite fields': person('friends { id } '.repeat(10_000)),
  'aliases that conflict': person('a: name a: email '.repeat(6000)),
  'a chain of fragments': `${person('...F0')} ${chain(5000, (i, next) => (next ? `...F${next}` : 'id'))}`,
  'a cycle of fragments': `${person('...F0')} ${chain(5000, (i, next) => `...F${next}`)}`,
  'fragments that double': `${person('...F0')} ${chain(1500, (i, next) => (next ? `a: friends { ...F${next} } b: friends { ...F${next} }` : 'id'))}`,
  'fragments that overlap in a ring': `${person('...F0 ...F1')} ${chain(600, (i, next) => `friends { ...F${next} ...F${(i + 7) % 600} } x: name`)}`,
  'all fragments in one set': `${person(numbered(2000, (i) => `...F${i}`))} ${chain(2000, () => 'friends { friends { id } }')}`,
  'operations that share fragments': `${numbered(2500, (i) => `query Q${i} ${person('...F0')}`)} ${chain(2500, (i, next) => (next ? `...F${next}` : 'id'))}`,
  'many arguments': `{ user(id: 1, ${numbered(12_000, (i) => `a${i}: 1`)}) { id } }`,
  'large objects to merge': `{ ${`users(filter: {${numbered(6000, (i) => `a${i}: 1`)}}) { id } `.repeat(2)} }`,
  'many variables': `query (${numbered(9000, (i) => `$v${i}: ID`)}) { user(id: $v0) { id } }`,
  'suggestions for every field': person(numbered(10_000, (i) => `frends${i}`)),
  'suggestions of long names': `${person(numbered(200, (i) => `...${'x'.repeat(36)}${i}`))} ${numbered(1000, (i) => `fragment ${'x'.repeat(36)}${i + 1000} on User { id }`)}`,
  'directives again and again': person(`name ${'@skip(if: false) '.repeat(9000)}`),
};
const slowest = 50e6;
console.log('hostile document                          ms  errors');
for (const [name, query] of Object.entries(hostile)) {
  const answers = [];
  for (let i = 0; i < 5; ++i) answers.push(await tool.ask({ bench: query, step: 'prepare', rounds: 1 }));
  const ns = median(answers.map((answer) => answer.cpu));
  judge(ns <= slowest);
  hostileRows.push([name, (ns / 1e6).toFixed(2), answers[0].errors]);
  console.log(`${name.padEnd(40)} ${(ns / 1e6).toFixed(2).padStart(5)} ${String(answers[0].errors).padStart(7)}${ns > slowest ? '  TOO SLOW' : ''}`);
}
tool.close();
if (results) {
  const shell = (command) => execSync(command, { encoding: 'utf8' }).trim();
  const cpu = os.cpus();
  const lines = (list) => list.map((row) => `| ${row.join(' | ')} |`).join('\n');
  writeFileSync(
    results,
    `# GraphQL engine beside graphql-js, ${new Date().toISOString().slice(0, 10)}

Written by \`tests/conformance/graphql/speed.mjs\` at commit ${shell('git rev-parse --short HEAD')}. Same queries, same schema, same answers, one process
each, one thread each. Rounds of ${kRound / 1e6} ms take turns after ${kWarm / 1e9} s of warm-up on each side; each figure is the median of ${kRounds} rounds, in
microseconds for one run of the step; a round's time is the smaller of wall and processor time. graphql-js ${js.version} on node ${process.version}, parsing without locations (the faster of its two
ways; ours keeps them), executing with \`executeSync\` and \`JSON.stringify\`. Ours: ${shell('c++ --version | head -1')}, -O2.
Machine: ${cpu.length} x ${cpu[0].model}, load average ${os.loadavg()[0].toFixed(2)} at the end.

| query | step | graphql-js us | ours us | times faster |
|---|---|---|---|---|
${lines(rows)}

Documents made to be slow, parsed, validated and measured against the limits once, median of five, processor time; refused with so many
errors, or prepared (0 errors). Wanted: at most 50 ms.

| document | ms | errors |
|---|---|---|
${lines(hostileRows)}

${passed} passed, ${failed} failed (wanted: ${wanted} times each step, at most 0.1 allocations a field).
`,
  );
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
