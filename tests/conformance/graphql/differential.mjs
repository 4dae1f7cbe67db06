// Differential test: random documents over random schemas, the same answers from the engine and from graphql-js.
//
//   node differential.mjs TOOL [DOCUMENTS=20000] [SCHEMAS=20] [SEED=1]
//
// Compared: whether the document is refused and by which rules; else data exactly, and the paths of errors. Messages are
// each side's own. A difference prints the seed, the schema and the document.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import * as js from 'graphql';
import { Random, randomDocument, randomSchema, sdl } from './random.mjs';

export class Tool {
  constructor(path) {
    this.process = spawn(path, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.waiting = [];
    createInterface({ input: this.process.stdout }).on('line', (line) => this.waiting.shift()(JSON.parse(line)));
    this.process.on('exit', (code, signal) => {
      if (this.waiting.length) throw new Error(`the tool ended with ${code ?? signal}`);
    });
  }
  ask(request) {
    this.process.stdin.write(`${JSON.stringify(request)}\n`);
    return new Promise((resolve) => this.waiting.push(resolve));
  }
  close() {
    this.process.stdin.end();
  }
}

const ruleOf = {
  ExecutableDefinitionsRule: ['ExecutableDefinitions'],
  KnownOperationTypesRule: ['OperationTypeExistence'],
  UniqueOperationNamesRule: ['UniqueOperationNames'],
  LoneAnonymousOperationRule: ['LoneAnonymousOperation'],
  SingleFieldSubscriptionsRule: ['SubscriptionSingleRootField'],
  KnownTypeNamesRule: ['FragmentSpreadTypeExistence'],
  FragmentsOnCompositeTypesRule: ['FragmentsOnCompositeTypes'],
  VariablesAreInputTypesRule: ['VariablesAreInputTypes'],
  ScalarLeafsRule: ['LeafFieldSelections'],
  FieldsOnCorrectTypeRule: ['FieldSelections'],
  UniqueFragmentNamesRule: ['UniqueFragmentNames'],
  KnownFragmentNamesRule: ['FragmentSpreadTargetDefined'],
  NoUnusedFragmentsRule: ['FragmentsUsed'],
  PossibleFragmentSpreadsRule: ['FragmentSpreadPossible'],
  NoFragmentCyclesRule: ['FragmentCycles'],
  UniqueVariableNamesRule: ['UniqueVariables'],
  NoUndefinedVariablesRule: ['VariableUsesDefined'],
  NoUnusedVariablesRule: ['VariablesUsed'],
  KnownDirectivesRule: ['DirectivesDefined', 'DirectivesInValidLocations'],
  UniqueDirectivesPerLocationRule: ['UniqueDirectives'],
  KnownArgumentNamesRule: ['ArgumentNames'],
  UniqueArgumentNamesRule: ['ArgumentUniqueness'],
  ValuesOfCorrectTypeRule: ['ValuesOfCorrectType'],
  ProvidedRequiredArgumentsRule: ['RequiredArguments'],
  VariablesInAllowedPositionRule: ['VariableUsagesAllowed'],
  OverlappingFieldsCanBeMergedRule: ['FieldSelectionMerging'],
  UniqueInputFieldNamesRule: ['UniqueInputFieldNames'],
  MaxIntrospectionDepthRule: ['IntrospectionDepth'],
};
const classOf = {};
for (const [rule, ours] of Object.entries(ruleOf)) for (const name of ours) classOf[name] = rule;
const rules = js.specifiedRules.filter((rule) => rule.name in ruleOf);

/** The wiring of differential_tool.cpp. */
export function wireSchema(schema) {
  const byName = (a, b) => (a.name < b.name ? -1 : 1);
  const valueOf = (type) => {
    if (js.isNonNullType(type)) return valueOf(type.ofType);
    if (js.isListType(type)) return [valueOf(type.ofType), valueOf(type.ofType)];
    if (js.isEnumType(type)) return type.getValues()[0].value;
    if (js.isObjectType(type)) return { __typename: type.name };
    if (js.isUnionType(type)) return { __typename: [...type.getTypes()].sort(byName)[0].name };
    if (js.isInterfaceType(type)) return { __typename: [...schema.getPossibleTypes(type)].sort(byName).at(-1)?.name };
    return { Int: 2, Float: 3.14, String: 'str', Boolean: true, ID: 'id' }[type.name] ?? 'str';
  };
  for (const type of Object.values(schema.getTypeMap())) {
    if (!js.isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      if (field.name.startsWith('nul')) field.resolve = () => null;
      else if (field.name.startsWith('err')) field.resolve = () => { throw new Error('failed'); };
      else if (field.name.startsWith('echo')) field.resolve = (_, args) => JSON.stringify(args);
      else if (field.name.startsWith('mix')) field.resolve = () => [valueOf(js.getNullableType(field.type).ofType), null, new Error('failed')];
      else field.resolve = () => valueOf(field.type);
    }
  }
  return schema;
}

function theirs(schema, request) {
  let document;
  try {
    document = js.parse(request.query, { noLocation: false, allowEmptySelectionSets: false });
  } catch {
    return { rules: ['Syntax'] };
  }
  const broken = new Set();
  for (const rule of rules) if (js.validate(schema, document, [rule]).length) broken.add(rule.name);
  if (broken.size) return { rules: [...broken].sort() };
  const operation = js.getOperationAST(document, request.operationName);
  const args = { schema, document, variableValues: request.variables, operationName: request.operationName };
  const result = operation?.operation === 'subscription' ? js.executeSync({ ...args }) : js.executeSync(args);
  if (!('data' in result)) return { rules: ['Request'] };
  return { response: JSON.parse(JSON.stringify(result)) };
}

function ours(answer) {
  if (!answer.rules) return answer;
  return { rules: [...new Set(answer.rules.map((rule) => (rule === 'Variables' || rule === 'OperationSelection' ? 'Request' : classOf[rule] ?? rule)))].sort() };
}

// Text of `echo` fields is JSON whose numbers and order each side writes in its own way.
function normal(value) {
  if (typeof value === 'string' && value.startsWith('{"')) {
    try {
      return ['echo', normal(JSON.parse(value))];
    } catch {
      return value;
    }
  }
  if (Array.isArray(value)) return value.map(normal);
  if (value && typeof value === 'object') {
    return Object.fromEntries(
      // Default values are GraphQL text, which each side spaces in its own way.
      Object.entries(value).map(([k, v]) => [k, k === 'defaultValue' && v !== null ? js.print(js.visit(js.parseValue(v), { StringValue: (node) => ({ ...node, block: false }) })) : normal(v)]),
    );
  }
  return value;
}

function same(a, b) {
  if (a.rules || b.rules) return isDeepStrictEqual(a.rules, b.rules);
  if (!isDeepStrictEqual(normal(a.response.data), normal(b.response.data))) return false;
  const paths = (response) => (response.errors ?? []).map((error) => JSON.stringify(error.path)).sort();
  return isDeepStrictEqual(paths(a.response), paths(b.response));
}

/** Introspection without what each side words for itself. */
function withoutBuiltinTexts(data) {
  const strip = (value) => {
    if (Array.isArray(value)) return value.map(strip);
    if (!value || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'description').map(([key, inner]) => [key, strip(inner)]));
  };
  const builtin = new Set(js.specifiedDirectives.map((directive) => directive.name));
  const schema = strip(data.__schema);
  schema.directives = schema.directives.filter((directive) => !builtin.has(directive.name));
  schema.types = schema.types.filter((type) => !type.name.startsWith('__'));
  return schema;
}

async function main() {
  const [path, documents = '20000', schemas = '20', seed = '1'] = process.argv.slice(2);
  const tool = new Tool(path);
  const perSchema = Math.ceil(Number(documents) / Number(schemas));
  let passed = 0;
  let failed = 0;
  const kinds = { executed: 0, withErrors: 0, refused: {} };
  for (let s = 0; s < Number(schemas); ++s) {
    const r = new Random(Number(seed) * 1000 + s);
    let model;
    let text;
    let schema;
    for (;;) {
      model = randomSchema(r);
      text = sdl(model);
      try {
        schema = js.buildSchema(text);
      } catch {
        continue;
      }
      const valid = js.validateSchema(schema).length === 0;
      const answer = await tool.ask({ schema: text });
      if (valid !== (answer.rules.length === 0)) {
        ++failed;
        console.log(`schema ${seed}/${s}: graphql-js says ${valid ? 'valid' : js.validateSchema(schema)[0].message}, we say ${JSON.stringify(answer)}\n${text}`);
      }
      if (valid && answer.rules.length === 0) break;
    }
    wireSchema(schema);
    const query = js.getIntrospectionQuery({ specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true, inputValueDeprecation: true, oneOf: true });
    const introspection = { query, variables: {}, operationName: null };
    const mine = (await tool.ask(introspection)).response?.data;
    if (mine && isDeepStrictEqual(normal(withoutBuiltinTexts(mine)), normal(withoutBuiltinTexts(JSON.parse(JSON.stringify(js.executeSync({ schema, document: js.parse(query) }).data)))))) {
      ++passed;
    } else {
      ++failed;
      console.log(`introspection of schema ${seed}/${s} differs`);
      if (process.env.SHOW_SCHEMA) console.log(text, JSON.stringify(mine));
    }
    for (let d = 0; d < perSchema; ++d) {
      const request = randomDocument(r, model);
      const b = theirs(schema, request);
      const a = ours(await tool.ask(request));
      if (same(a, b)) {
        ++passed;
        if (a.rules) for (const rule of a.rules) kinds.refused[rule] = (kinds.refused[rule] ?? 0) + 1;
        else {
          ++kinds.executed;
          if (a.response.errors) ++kinds.withErrors;
        }
      } else if (++failed <= 10) {
        console.log(`document ${seed}/${s}/${d} differs\n${request.query}\nvariables ${JSON.stringify(request.variables)} operation ${request.operationName}`);
        console.log(`ours   ${JSON.stringify(a).slice(0, 1500)}\ntheirs ${JSON.stringify(b).slice(0, 1500)}`);
        if (process.env.SHOW_SCHEMA) console.log(text);
      }
    }
  }
  tool.close();
  console.log(JSON.stringify(kinds));
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}

if (process.argv[1] === new URL(import.meta.url).pathname) await main();
