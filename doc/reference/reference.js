/* SPDX-License-Identifier: MIT */
/* Shows openapi.json.  "Try it out" sends requests to the deployment that serves the page. */
SwaggerUIBundle({
  // Relative to this script, because the page is both /docs and /docs/.
  url: new URL('openapi.json', document.currentScript.src).href,
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelRendering: 'example',
  // Forget the API key when the page is closed.
  persistAuthorization: false,
  // By default, swagger-ui sends the document to a third-party validator.
  validatorUrl: null,
});
