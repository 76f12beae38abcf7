/* SPDX-License-Identifier: MIT */
/* Shows openapi.json.  "Try it out" sends requests to the deployment that serves the page. */
/* Adds to found the components that part refers to, and those that they refer to. */
function follow(part, components, found) {
  for (const [, kind, name] of JSON.stringify(part).matchAll(/"#\/components\/(\w+)\/(\w+)/g)) {
    const component = components[kind]?.[name];
    found[kind] ??= {};
    if (component && !found[kind][name]) {
      found[kind][name] = component;
      follow(component, components, found);
    }
  }
  return found;
}

/* The document without the paths and components that are of no use to what is at place. */
function cut({ paths, components, ...others }, [section, path, method]) {
  const kept = {};
  if (section === 'paths') {
    kept[path] = Object.fromEntries(Object.entries(paths[path]).filter(
      ([name]) => name === method || name === 'parameters'));
  }
  const { securitySchemes } = components;
  return { ...others, paths: kept, components: follow(kept, components, { securitySchemes }) };
}

/* swagger-ui reads a whole document anew for each operation that is opened, which takes longer than
   the rest.  Gives it a cut one. */
function readLess(system) {
  const { resolveSubtree } = SwaggerUIBundle.plugins.SwaggerClient(system).fn;
  return {
    fn: {
      resolveSubtree: (document, place, options) =>
        resolveSubtree(cut(document, place), place, options),
    },
  };
}

/* By default, each change reads and cleans every text of every open operation anew. */
function keepTexts({ React }) {
  const isSame = (before, now) => before.source === now.source;
  return { wrapComponents: { Markdown: (Markdown) => React.memo(Markdown, isSame) } };
}

SwaggerUIBundle({
  // Relative to this script, because the page is both /docs and /docs/.
  url: new URL('openapi.json', document.currentScript.src).href,
  dom_id: '#reference',
  plugins: [readLess, keepTexts],
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelRendering: 'example',
  // Forget the API key when the page is closed.
  persistAuthorization: false,
  // By default, swagger-ui sends the document to a third-party validator.
  validatorUrl: null,
});
