// SPDX-License-Identifier: MIT
// Checks an OpenAPI document against the recommended rules of Redocly's linter.  A warning is a
// failure too.
//
// usage: node lint.js MODULES DOCUMENT     MODULES is the folder where the linter is installed
const path = require('node:path');

const [modules, document] = process.argv.slice(2);
const redocly = require(path.join(modules, '@redocly', 'openapi-core'));

// A document with known faults.  If the linter finds none of them, it checks nothing.
const broken = {
  openapi: '3.1.0',
  info: { title: 'x', version: '1' },
  paths: { '/x': { get: { responses: { 200: { descriptionn: 'x' } } } } },
};

async function main() {
  const config = await redocly.createConfig({ extends: ['recommended'] });
  const found = await redocly.lintFromString({
    source: JSON.stringify(broken), absoluteRef: 'broken.json', config,
  });
  if (!found.some((problem) => problem.ruleId === 'operation-summary')) {
    throw new Error('the linter finds no fault in a broken document');
  }
  const problems = await redocly.lint({ ref: document, config });
  const totals = redocly.getTotals(problems);
  redocly.formatProblems(problems, { totals, format: 'stylish', version: '' });
  const bad = totals.errors + totals.warnings;
  console.log(`lint: ${bad ? 0 : 1} passed, ${bad} failed`);
  process.exitCode = bad ? 1 : 0;
}

main();
