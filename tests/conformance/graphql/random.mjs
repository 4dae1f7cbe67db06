// Seeded randomness, schemas and documents. Documents are valid more often than not; each kind of mistake has its turn.

export class Random {
  constructor(seed) {
    this.state = BigInt(seed) * 0x9e3779b97f4a7c15n + 1n;
  }
  next() {
    // splitmix64
    this.state = (this.state + 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn;
    let z = this.state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & 0xffffffffffffffffn;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & 0xffffffffffffffffn;
    return z ^ (z >> 31n);
  }
  below(n) {
    return Number(this.next() % BigInt(n));
  }
  chance(percent) {
    return this.below(1000) < percent * 10;
  }
  pick(list) {
    return list[this.below(list.length)];
  }
}

const scalars = ['Int', 'Float', 'String', 'Boolean', 'ID'];

/** A schema as a model; sdl(model) is its text. */
export function randomSchema(r) {
  const model = { objects: [], interfaces: [], unions: [], enums: [], inputs: [], customs: ['Date', 'Any'], directives: [] };
  const count = (low, high) => low + r.below(high - low + 1);
  for (let i = 0, n = count(1, 3); i < n; ++i) {
    model.enums.push({ name: `Enum${i}`, values: Array.from({ length: count(1, 4) }, (_, v) => `V${i}_${v}`) });
  }
  for (let i = 0, n = count(2, 4); i < n; ++i) model.inputs.push({ name: `In${i}`, oneOf: r.chance(25), fields: [] });
  const leaf = () => (r.chance(70) ? r.pick(scalars) : r.chance(50) ? r.pick(model.enums).name : r.pick(model.customs));
  const wrap = (name) => {
    let type = name;
    if (r.chance(25)) type += '!';
    if (r.chance(25)) {
      type = `[${type}]`;
      if (r.chance(25)) type += '!';
      if (r.chance(10)) type = `[${type}]`;
    }
    return type;
  };
  for (let i = 0; i < model.inputs.length; ++i) {
    const input = model.inputs[i];
    for (let f = 0, n = count(1, 4); f < n; ++f) {
      const nested = r.chance(30) ? r.pick(model.inputs).name : leaf();
      let type = wrap(nested);
      if (input.oneOf || model.inputs.some((other) => other.name === nested)) type = type.replace(/!+$/, '');
      const field = { name: `f${f}`, type };
      if (!input.oneOf && r.chance(30) && !model.inputs.some((other) => other.name === nested)) field.default = literalOf(r, model, type, 2, false, null);
      input.fields.push(field);
    }
  }
  const argument = (a) => {
    const nested = r.chance(35) ? r.pick(model.inputs).name : leaf();
    const arg = { name: `a${a}`, type: wrap(nested) };
    if (r.chance(35)) arg.default = literalOf(r, model, arg.type, 3, false, null);
    return arg;
  };
  const field = (name, type) => ({ name, type, args: Array.from({ length: r.chance(40) ? count(1, 3) : 0 }, (_, a) => argument(a)) });
  for (let i = 0, n = count(1, 3); i < n; ++i) model.interfaces.push({ name: `Face${i}`, fields: [], interfaces: [] });
  for (let i = 0, n = count(3, 6); i < n; ++i) model.objects.push({ name: `Obj${i}`, fields: [], interfaces: [] });
  for (let i = 0, n = count(1, 2); i < n; ++i) {
    const members = model.objects.filter(() => r.chance(50));
    model.unions.push({ name: `Uni${i}`, members: (members.length ? members : [model.objects[0]]).map((o) => o.name) });
  }
  const composite = () => r.pick([...model.objects, ...model.interfaces, ...model.unions]).name;
  // Interfaces: their fields are copied to whoever implements them.
  model.interfaces.forEach((face, i) => {
    if (i > 0 && r.chance(40)) {
      face.interfaces.push(model.interfaces[0].name);
      face.fields.push(...model.interfaces[0].fields);
    }
    for (let f = 0, n = count(1, 3); f < n; ++f) face.fields.push(field(`i${i}_${f}`, wrap(r.chance(60) ? leaf() : composite())));
  });
  for (const object of model.objects) {
    for (const face of model.interfaces) {
      if (!r.chance(45)) continue;
      for (const name of [...face.interfaces, face.name]) {
        if (object.interfaces.includes(name)) continue;
        object.interfaces.push(name);
        for (const inherited of model.interfaces.find((x) => x.name === name).fields) {
          if (!object.fields.some((x) => x.name === inherited.name)) object.fields.push(inherited);
        }
      }
    }
    const shared = ['name', 'size', 'next', 'other', 'list'];
    for (const name of shared) {
      if (r.chance(60)) object.fields.push(field(name, wrap(name === 'name' || name === 'size' ? leaf() : composite())));
    }
    object.fields.push(field('plain', 'String'));
    if (r.chance(50)) object.fields.push(field('nulOne', wrap(leaf())));
    if (r.chance(50)) object.fields.push(field('errOne', wrap(leaf())));
    if (r.chance(40)) object.fields.push(field('nulObj', wrap(composite())));
    if (r.chance(40)) object.fields.push(field('errObj', wrap(composite())));
    if (r.chance(40)) object.fields.push(field('mixOne', `[${leaf()}${r.chance(30) ? '!' : ''}]${r.chance(30) ? '!' : ''}`));
    if (r.chance(40)) object.fields.push(field('mixObj', `[${composite()}]`));
    object.fields.push({ name: 'echo', type: 'String', args: Array.from({ length: 3 }, (_, a) => argument(a)) });
  }
  model.directives.push({ name: 'once', args: [argument(0)], repeatable: false, locations: ['FIELD', 'QUERY', 'FRAGMENT_SPREAD'] });
  model.directives.push({ name: 'many', args: [], repeatable: true, locations: ['FIELD', 'INLINE_FRAGMENT', 'FRAGMENT_DEFINITION', 'VARIABLE_DEFINITION'] });
  model.roots = { query: 'Obj0', mutation: r.chance(70) ? 'Obj1' : null, subscription: r.chance(70) ? 'Obj2' : null };
  return model;
}

export function sdl(model) {
  const out = [];
  const args = (list) => (list.length ? `(${list.map((a) => `${a.name}: ${a.type}${a.default === undefined ? '' : ` = ${a.default}`}`).join(', ')})` : '');
  out.push(`schema { query: ${model.roots.query}${model.roots.mutation ? ` mutation: ${model.roots.mutation}` : ''}${model.roots.subscription ? ` subscription: ${model.roots.subscription}` : ''} }`);
  for (const name of model.customs) out.push(`scalar ${name}`);
  for (const e of model.enums) out.push(`enum ${e.name} { ${e.values.join(' ')} }`);
  for (const i of model.inputs) out.push(`input ${i.name}${i.oneOf ? ' @oneOf' : ''} { ${i.fields.map((f) => `${f.name}: ${f.type}${f.default === undefined ? '' : ` = ${f.default}`}`).join(' ')} }`);
  const fields = (list) => `{ ${list.map((f) => `${f.name}${args(f.args)}: ${f.type}`).join('\n  ')} }`;
  const impl = (x) => (x.interfaces.length ? ` implements ${x.interfaces.join(' & ')}` : '');
  for (const i of model.interfaces) out.push(`interface ${i.name}${impl(i)} ${fields(i.fields)}`);
  for (const o of model.objects) out.push(`type ${o.name}${impl(o)} ${fields(o.fields)}`);
  for (const u of model.unions) out.push(`union ${u.name} = ${u.members.join(' | ')}`);
  for (const d of model.directives) out.push(`directive @${d.name}${args(d.args)}${d.repeatable ? ' repeatable' : ''} on ${d.locations.join(' | ')}`);
  return out.join('\n');
}

const strip = (type) => type.replace(/!$/, '');
const named = (type) => type.replace(/[\[\]!]/g, '');

/** A literal that fits `type`, mostly. `use(type)` may give a variable for the place. */
export function literalOf(r, model, type, depth, allowMistakes, use) {
  if (allowMistakes && r.chance(2)) return r.pick(['1', '"x"', 'true', 'null', 'RED', '{}', '[]', '1.5', '{f0: 1}', '99999999999', '"\\u00e9"']);
  if (use && r.chance(25)) {
    const variable = use(type);
    if (variable) return variable;
  }
  const nonNull = type.endsWith('!');
  const bare = strip(type);
  if (!nonNull && r.chance(10)) return 'null';
  if (bare.startsWith('[')) {
    const item = bare.slice(1, -1);
    if (r.chance(15)) return literalOf(r, model, item, depth - 1, allowMistakes, null);
    return `[${Array.from({ length: r.below(3) }, () => literalOf(r, model, item, depth - 1, allowMistakes, use)).join(', ')}]`;
  }
  switch (bare) {
    case 'Int': return String(r.below(100) - 50);
    case 'Float': return r.pick(['1', '1.5', '-2.25e3', '0']);
    case 'String': return r.pick(['"s"', '"t\\n"', '"\\u{1F600}"', '"""block"""']);
    case 'Boolean': return r.pick(['true', 'false']);
    case 'ID': return r.pick(['"id"', '7']);
    case 'Date':
    case 'Any': return r.pick(['"any"', '1', 'true', '{a: [1, "x"]}', 'SOME', '2.5']);
  }
  const e = model.enums.find((x) => x.name === bare);
  if (e) return r.pick(e.values);
  const input = model.inputs.find((x) => x.name === bare);
  if (!input) return '1';
  if (input.oneOf) {
    const field = r.pick(input.fields);
    if (depth <= 0) {
      const simple = input.fields.find((f) => !model.inputs.some((x) => x.name === named(f.type)));
      if (!simple) return nonNull ? '{}' : 'null';
      return `{${simple.name}: ${literalOf(r, model, simple.type + '!', 0, allowMistakes, null)}}`;
    }
    return `{${field.name}: ${literalOf(r, model, field.type + '!', depth - 1, allowMistakes, use)}}`;
  }
  const parts = [];
  for (const field of input.fields) {
    const required = field.type.endsWith('!') && field.default === undefined;
    if (!required && (depth <= 0 || r.chance(40))) continue;
    if (required && allowMistakes && r.chance(2)) continue;
    parts.push(`${field.name}: ${literalOf(r, model, field.type, depth - 1, allowMistakes, use)}`);
  }
  if (allowMistakes && r.chance(1)) parts.push('unknown: 1');
  if (allowMistakes && r.chance(1) && parts.length) parts.push(parts[0]);
  return `{${parts.join(', ')}}`;
}

/** A JSON value for a variable of this type, mostly fitting. */
function inputOf(r, model, type, depth) {
  if (r.chance(3)) return r.pick([1, 'x', true, null, 1.5, {}, [], [null], { f0: 1 }, 1e20, -1]);
  if (!type.endsWith('!') && r.chance(10)) return null;
  const bare = strip(type);
  if (bare.startsWith('[')) {
    if (r.chance(15)) return inputOf(r, model, bare.slice(1, -1), depth - 1);
    return Array.from({ length: r.below(3) }, () => inputOf(r, model, bare.slice(1, -1), depth - 1));
  }
  switch (bare) {
    case 'Int': return r.below(100);
    case 'Float': return r.pick([1, 2.5, -3e10]);
    case 'String': return r.pick(['v', '', 'é']);
    case 'Boolean': return r.chance(50);
    case 'ID': return r.pick(['v', 12]);
    case 'Date':
    case 'Any': return r.pick(['any', 5, { x: [1, null] }, false]);
  }
  const e = model.enums.find((x) => x.name === bare);
  if (e) return r.pick(e.values);
  const input = model.inputs.find((x) => x.name === bare);
  if (!input) return 1;
  const value = {};
  if (input.oneOf) {
    const field = r.pick(input.fields);
    value[field.name] = inputOf(r, model, field.type + '!', depth - 1);
    if (r.chance(5)) value.f0 = null;
    return value;
  }
  for (const field of input.fields) {
    const required = field.type.endsWith('!') && field.default === undefined;
    if (required ? r.chance(3) : depth <= 0 || r.chance(40)) continue;
    value[field.name] = inputOf(r, model, field.type, depth - 1);
  }
  if (r.chance(2)) value.unknown = 1;
  return value;
}

export function randomDocument(r, model) {
  const mistakes = r.chance(45); // otherwise everything is meant to be valid
  const oops = (percent) => mistakes && r.chance(percent);
  const fragments = [];
  const composites = [...model.objects, ...model.interfaces];
  const find = (name) => composites.find((x) => x.name === name) ?? model.unions.find((x) => x.name === name);
  const possible = (name) => {
    if (model.objects.some((o) => o.name === name)) return [name];
    const union = model.unions.find((u) => u.name === name);
    if (union) return union.members;
    return model.objects.filter((o) => o.interfaces.includes(name)).map((o) => o.name);
  };
  const overlapping = (name) => {
    const mine = possible(name);
    return [...composites, ...model.unions].map((x) => x.name).filter((other) => possible(other).some((p) => mine.includes(p)));
  };
  let variables = [];
  const use = (type) => {
    const known = variables.filter((v) => v.type === type || strip(v.type) === type);
    if (known.length && r.chance(60)) return `$${r.pick(known).name}`;
    if (oops(5)) return r.pick(['$undefined', ...variables.map((v) => `$${v.name}`)]);
    if (variables.length >= 6) return null;
    const variable = { name: `v${variables.length}`, type: r.chance(30) && !type.endsWith('!') ? `${type}!` : type };
    if (r.chance(30)) variable.default = literalOf(r, model, variable.type, 2, mistakes, null);
    variables.push(variable);
    return `$${variable.name}`;
  };
  const args = (field) => {
    const parts = [];
    for (const arg of field.args) {
      const required = arg.type.endsWith('!') && arg.default === undefined;
      if (required ? oops(3) : r.chance(45)) continue;
      parts.push(`${arg.name}: ${literalOf(r, model, arg.type, 3, mistakes, use)}`);
    }
    if (oops(1)) parts.push('unknown: 1');
    if (oops(1) && parts.length) parts.push(parts[0]);
    return parts.length ? `(${parts.join(', ')})` : '';
  };
  const directives = (where, root) => {
    let text = '';
    if (where !== 'QUERY' && r.chance(root === 'subscription' ? (mistakes ? 4 : 0) : 10)) {
      const condition = r.chance(60) ? r.pick(['true', 'false']) : use('Boolean!') ?? 'true';
      text += ` @${r.pick(['skip', 'include'])}(if: ${condition})`;
    }
    if (where === 'FIELD' && r.chance(3)) text += ` @once${args(model.directives[0])}`;
    if ((where === 'FIELD' || where === 'INLINE_FRAGMENT') && r.chance(3)) text += ' @many @many';
    if (oops(1)) text += r.pick([' @unknown', ' @many', ' @once', ' @deprecated', ' @skip', ' @skip(if: 1)', ' @once @once']);
    return text;
  };
  const selection = (typeName, depth, root) => {
    const type = find(typeName);
    const parts = [];
    for (let i = 0, n = root === 'subscription' && !mistakes ? 1 : 1 + r.below(4); i < n; ++i) {
      const roll = r.below(100);
      if (root !== 'subscription' && roll < 5) {
        parts.push(`${r.chance(20) ? 'kind: ' : ''}__typename${directives('FIELD', root)}`);
        continue;
      }
      if (roll < 20 && depth > 0) {
        const other = oops(6) ? r.pick([...composites.map((x) => x.name), 'Int', 'Nowhere', 'In0']) : r.pick(overlapping(typeName).concat(typeName));
        if (!find(other)) {
          parts.push(`... on ${other} { plain }`);
        } else {
          parts.push(`...${r.chance(80) ? ` on ${other}` : ''}${directives('INLINE_FRAGMENT', root)} ${selection(parts.length && r.chance(0) ? other : r.chance(0) ? typeName : other, depth - 1, root)}`);
          if (!parts[parts.length - 1].startsWith('... on')) parts[parts.length - 1] = `... ${selection(typeName, depth - 1, root)}`;
        }
        continue;
      }
      if (roll < 32 && depth > 0 && root !== 'subscription') {
        const usable = fragments.filter((f) => overlapping(typeName).includes(f.type) || oops(4));
        if (usable.length && r.chance(60)) {
          parts.push(`...${r.pick(usable).name}${directives('FRAGMENT_SPREAD', root)}`);
        } else if (fragments.length < 4) {
          const fragment = { name: `F${fragments.length}`, type: r.pick(overlapping(typeName).concat(typeName)), text: '' };
          if (!mistakes || r.chance(90)) {
            // Known to others only when it is whole, so that no cycle arises by chance.
            fragment.text = selection(fragment.type, depth - 1, null);
            fragment.name = `F${fragments.length}`;
            fragments.push(fragment);
          } else {
            fragments.push(fragment);
            fragment.text = selection(fragment.type, depth - 1, null);
          }
          parts.push(`...${fragment.name}`);
        } else if (oops(5)) {
          parts.push('...Missing');
        }
        if (parts.length) continue;
      }
      const fields = type.fields ?? [];
      if (!fields.length) {
        parts.push('__typename');
        continue;
      }
      if (oops(2)) {
        parts.push(r.pick(['unknown', 'plain { x }', 'other', '__schema { queryType { name } }']));
        continue;
      }
      let field = r.pick(fields);
      const composite = find(named(field.type));
      if (composite && depth <= 0) field = fields.find((f) => !find(named(f.type))) ?? null;
      if (!field) {
        parts.push('__typename');
        continue;
      }
      // Aliases mostly follow from the field and its arguments, so that merging works out more often than not.
      const given = args(field);
      let alias = '';
      if (given && !(mistakes && r.chance(20))) alias = `${field.name}_${hash(given + typeName)}: `;
      else if (r.chance(10)) alias = `x_${field.name}: `;
      else if (oops(3)) alias = `${r.pick(['plain', 'name', 'echo'])}: `;
      const sub = find(named(field.type)) ? ` ${selection(named(field.type), depth - 1, null)}` : '';
      parts.push(`${alias}${field.name}${given}${directives('FIELD', root)}${sub}`);
      if (r.chance(8)) parts.push(parts[parts.length - 1]);
    }
    if (root === 'query' && r.chance(6)) {
      parts.push(r.pick(['__schema { types { name kind } queryType { fields(includeDeprecated: true) { name } } }', '__type(name: "Obj0") { name kind fields { name args { name defaultValue type { name kind ofType { name kind } } } } }', '__type(name: "In0") { isOneOf inputFields { name type { kind } } }', '__schema { queryType { name } mutationType { name } }', '__type(name: "Face0") { possibleTypes { name } interfaces { name } enumValues { name } }']));
    }
    if (oops(1) && root === 'query') parts.push('__schema { types { fields { type { fields { type { fields { name } } } } } } }');
    return `{ ${parts.length ? parts.join(' ') : '__typename'} }`;
  };
  const operations = [];
  const count = r.chance(85) ? 1 : 2;
  let chosen = null;
  let values = {};
  for (let i = 0; i < count; ++i) {
    variables = [];
    const kinds = ['query', 'query', 'query', 'mutation', 'subscription'].filter((k) => model.roots[k] || oops(10));
    const kind = r.pick(kinds);
    const name = count > 1 && !oops(5) ? `Op${oops(5) ? 0 : i}` : r.chance(30) ? 'Op' : '';
    const before = fragments.length;
    const body = selection(model.roots[kind] ?? 'Obj0', 4, kind);
    void before;
    const used = variables.filter(() => !oops(3));
    if (oops(3)) used.push({ name: 'unused', type: r.pick(['Int', 'Obj0', 'Nothing', '[In0!]']) });
    if (oops(2) && used.length) used.push(used[0]);
    const definitions = used.map((v) => `$${v.name}: ${v.type}${v.default === undefined ? '' : ` = ${v.default}`}${r.chance(3) ? ' @many' : ''}`);
    const short = kind === 'query' && !definitions.length && !name && r.chance(30);
    operations.push(short ? body : `${kind} ${name}${definitions.length ? `(${definitions.join(', ')})` : ''} ${body}`);
    if (chosen === null || r.chance(50)) {
      chosen = name;
      values = {};
      for (const v of used) {
        const required = v.type.endsWith('!') && v.default === undefined;
        if (required ? r.chance(3) : r.chance(30)) continue;
        values[v.name] = inputOf(r, model, v.type, 3);
      }
    }
  }
  const fragmentTexts = fragments.filter(() => !oops(3)).map((f) => `fragment ${f.name} on ${f.type} ${f.text}`);
  if (oops(2)) fragmentTexts.push('fragment Unused on Obj0 { plain }');
  if (oops(1)) fragmentTexts.push('fragment F0 on Obj0 { plain }');
  if (oops(1)) fragmentTexts.push('type X { a: Int }');
  let query = [...operations, ...fragmentTexts].join('\n');
  if (oops(2)) query = query.slice(0, r.below(query.length)) + r.pick(['', '}', '{', '"', '$', '@', '..']) + query.slice(r.below(query.length));
  return { query, variables: values, operationName: count > 1 || (chosen && r.chance(50)) ? chosen || null : null };
}

function hash(text) {
  let h = 7;
  for (const c of text) h = (h * 31 + c.codePointAt(0)) % 100003;
  return h;
}
