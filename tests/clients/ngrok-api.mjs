// SPDX-License-Identifier: MIT
// Calls methods of the npm package @ngrok/ngrok-api as it is told on standard input, and says on
// standard output what the caller got: one JSON object a line, each way.
//
// usage: ngrok-api.mjs FOLDER BASE_URL API_TOKEN
//
// A line in is {"call": "sshCredentials.get", "args": [...]}.  A line out has one of "returned",
// "rejected" (an error as the client's interface defines it) and "broken" (any other exception).
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [folder, baseUrl, apiToken] = process.argv.slice(2);
const { Ngrok } = createRequire(`${folder}/`)('@ngrok/ngrok-api');
const client = new Ngrok({ baseUrl, apiToken });

function call(name, args) {
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

for await (const line of createInterface({ input: process.stdin })) {
  const { call: name, args } = JSON.parse(line);
  const outcome = await Promise.resolve()
    .then(() => call(name, args))
    .then((returned) => ({ returned: returned === undefined ? null : returned }), describe);
  console.log(JSON.stringify(outcome));
}
