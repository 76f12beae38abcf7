/* SPDX-License-Identifier: MIT */
/* Shows openapi.json.  "Try it out" sends requests to the deployment that serves the page. */
SwaggerUIBundle({
  // Beside this script, whether the page is /docs or /docs/.
  url: new URL('openapi.json', document.currentScript.src).href,
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelRendering: 'example',
  // The key that is entered is forgotten with the page.
  persistAuthorization: false,
  // Else the document is sent to a server of somebody else.
  validatorUrl: null,
});
