// SPDX-License-Identifier: MIT
// Reads calls of the npm package @ngrok/ngrok-api from standard input, runs them, and prints the
// outcomes to standard output.  Each line of both is one JSON object.
//
// usage: ngrok-api.mjs FOLDER
//
// The package is installed in FOLDER.  The first line of input configures the client:
// {"baseUrl": "...", "apiToken": "..."}.  The key is not an argument, since other users can list
// those.  Each further line is {"call": "sshCredentials.get", "args": [...]}.  A line of output has
// "returned", "rejected" (an error of the client's own kind) or "broken" (any other exception).
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
