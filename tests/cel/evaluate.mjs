// SPDX-License-Identifier: MIT
// Evaluates filters with two implementations of CEL.
//
// Usage: node evaluate.mjs FOLDER <INPUT
// FOLDER has the packages.  The input is an object:
//   now      time.now, RFC 3339
//   types    {member: "string", "list", "time" or "bool"} of obj
//   rows     a list of objs
//   filters  a list of [what Adit is asked, what the strict one is asked, and the conforming one]
// The output is a list with an object per filter:
//   refused  what the strict checker says against the filter, or null
//   matches  two lists of the rows' numbers that the filter is true for, one of each implementation;
//            null if it is refused
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(`${process.argv[2]}/`);
const cel = require('@bufbuild/cel');
const { TimestampSchema, timestampDate, timestampFromDate } = require('@bufbuild/protobuf/wkt');
// This package is an ES module, which require() of older releases of Node does not load.
const { Environment } = await import(
  `${process.argv[2]}/node_modules/@marcbachmann/cel-js/lib/index.js`);

const TIME = 'google.protobuf.Timestamp';
const UNITS = { d: 86400000, h: 3600000, m: 60000, s: 1000 };

// What Adit adds to CEL.

function milliseconds(duration) {
  if (!/^([0-9]+[dhms])+$/.test(duration)) throw new Error('no duration');
  return duration.match(/[0-9]+[dhms]/g)
    .reduce((sum, part) => sum + parseInt(part, 10) * UNITS[part.at(-1)], 0);
}

function moved(date, sign, duration) {
  return new Date(date.getTime() + sign * milliseconds(duration));
}

// The strict checker: it knows the types of obj's members.
function strictEnvironment(types) {
  const words = { string: 'string', list: 'list<string>', time: TIME, bool: 'bool' };
  const schema = Object.fromEntries(
    Object.entries(types).map(([name, type]) => [name, words[type]]));

  return new Environment({ homogeneousAggregateLiterals: false })
    .registerVariable({ name: 'obj', schema })
    .registerVariable({ name: 'time', schema: { now: TIME } })
    .registerFunction(`timestamp(${TIME}): ${TIME}`, (time) => time)
    .registerFunction(`${TIME}.add(string): ${TIME}`, (time, by) => moved(time, 1, by))
    .registerFunction(`${TIME}.subtract(string): ${TIME}`, (time, by) => moved(time, -1, by))
    .registerOperator('string == null', (text) => text === '')
    .registerOperator('list<string> == null', (list) => list.length === 0);
}

function strictly(environment, filter, contexts) {
  const checked = environment.check(filter);
  if (!checked.valid) return { refused: checked.error.message };
  if (checked.type !== 'bool') return { refused: `a ${checked.type}` };
  const evaluate = environment.parse(filter);
  try {
    return { refused: null, matches: numbers(contexts, (context) => evaluate(context)) };
  } catch (error) {
    return { refused: error.message };
  }
}

// The one that passes CEL's conformance tests.
function conformingEnvironment() {
  const { STRING } = cel.CelScalar;
  const time = cel.objectType(TimestampSchema);
  const move = (sign) => function (by) {
    return timestampFromDate(moved(timestampDate(this.message ?? this), sign, by));
  };

  return cel.celEnv({
    funcs: [cel.celMethod('add', time, [STRING], time, move(1)),
            cel.celMethod('subtract', time, [STRING], time, move(-1))] });
}

function conformingly(environment, filter, contexts) {
  try {
    const evaluate = cel.plan(environment, cel.parse(filter));
    return numbers(contexts, (context) => {
      const result = evaluate(context);
      if (cel.isCelError(result)) throw result;
      return result;
    });
  } catch (error) {
    throw new Error(`${filter}: ${error.message}`);
  }
}

function numbers(contexts, evaluate) {
  const found = [];
  contexts.forEach((context, number) => {
    const result = evaluate(context);
    if (typeof result !== 'boolean') throw new Error(`is ${typeof result}`);
    if (result) found.push(number);
  });
  return found;
}

const input = JSON.parse(readFileSync(0, 'utf8'));

function contextsWith(makeTime) {
  const now = makeTime(new Date(input.now));

  return input.rows.map((row) => ({
    obj: Object.fromEntries(Object.entries(row).map(([name, value]) =>
      [name, input.types[name] === 'time' ? makeTime(new Date(value)) : value])),
    time: { now },
  }));
}

const strict = strictEnvironment(input.types);
const conforming = conformingEnvironment();
const strictContexts = contextsWith((date) => date);
const conformingContexts = contextsWith(timestampFromDate);

process.stdout.write(JSON.stringify(input.filters.map(([, first, second]) => {
  const { refused, matches } = strictly(strict, first, strictContexts);
  return { refused, matches: refused === null && second !== null
    ? [matches, conformingly(conforming, second, conformingContexts)] : null };
})));
