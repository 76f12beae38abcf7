// SPDX-License-Identifier: MIT
// Calls methods of the npm package @ngrok/ngrok-api as it is told on standard input, and says on
// standard output what the caller got: one JSON object a line, each way.
//
// usage: ngrok-api.mjs FOLDER
//
// FOLDER is where the package is installed.  The first line in is what the client is made with,
// {"baseUrl": "...", "apiToken": "..."}: a key has no place in a list of processes.  Each further one
// is {"call": "sshCredentials.get", "args": [...]}.  A line out has one of "returned", "rejected" (an
// error as the client's interface defines it) and "broken" (any other exception).
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { Ngrok } = createRequire(`${process.argv[2]}/`)('@ngrok/ngrok-api');

function call(client, name, args) {
  const steps = name.split('.');
  const method = steps.pop();
  const service = steps.reduce((object, step) => object[step], client);
  return service[method](...args);
}

function describe(error) {
  if (error instanceof Error) return { broken: error.name };
  const { details, ...rest } = error;
  return {
    rejected: { ...rest, details: Object.fromEntries(details), isMap: details instanceof Map },
  };
}

let client;
for await (const line of createInterface({ input: process.stdin })) {
  if (client === undefined) {
    client = new Ngrok(JSON.parse(line));
    continue;
  }
  const { call: name, args } = JSON.parse(line);
  const outcome = await Promise.resolve()
    .then(() => call(client, name, args))
    .then((returned) => ({ returned: returned === undefined ? null : returned }), describe);
  console.log(JSON.stringify(outcome));
}
