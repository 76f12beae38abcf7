// SPDX-License-Identifier: MIT
// Bundles the console, and checks its texts and its size.
//
// usage: make.mjs SOURCES WORK FOLDER     WORK has a copy of src/ and texts/, and the packages
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [sources, work, target] = process.argv.slice(2);
const folder = path.join(work, "public");
const require = createRequire(path.join(work, "package.json"));
const esbuild = require("esbuild");
const typescript = require("typescript");

// All files, each compressed, in bytes.
const SIZE_MAX = 120 * 1024;
// Elements' attributes that people read or hear.
const READ_ALOUD = ["title", "alt", "placeholder", "label", "hint", "aria-label", "aria-description"];
const LICENCES = ["preact", "@noble/hashes"];

const faults = [];

function read(...parts) {
    return fs.readFileSync(path.join(...parts), "utf8");
}

function filesBelow(start, ends) {
    return fs
        .readdirSync(start, { recursive: true })
        .filter((name) => ends.some((end) => name.endsWith(end)))
        .sort();
}

// ---- texts ----

function placeholders(text) {
    return [...text.matchAll(/\{(\w+)\}/g)]
        .map((found) => found[1])
        .sort()
        .join(" ");
}

function readTexts(name) {
    const text = read(work, "texts", name);
    const texts = JSON.parse(text);
    const keys = [...text.matchAll(/^ {4}"([^"]+)":/gm)].map((found) => found[1]);
    if (keys.length !== Object.keys(texts).length) {
        faults.push(`texts/${name}: a key stands twice, or a line has not one key`);
    }
    if (keys.join() !== [...keys].sort().join()) {
        faults.push(`texts/${name}: the keys are not in order`);
    }
    for (const [key, value] of Object.entries(texts)) {
        if (typeof value !== "string" || value.trim() === "") {
            faults.push(`texts/${name}: ${key} has no text`);
        }
    }
    return texts;
}

function checkTexts(used) {
    const names = filesBelow(path.join(work, "texts"), [".json"]);
    const english = readTexts("en.json");
    for (const name of names) {
        const texts = readTexts(name);
        for (const key of new Set([...Object.keys(english), ...Object.keys(texts)])) {
            if (!(key in texts) || !(key in english)) {
                faults.push(`texts: ${key} is in one of en.json and ${name} only`);
            } else if (placeholders(texts[key]) !== placeholders(english[key])) {
                faults.push(`texts/${name}: ${key} has other {names} than in en.json`);
            }
        }
    }
    for (const key of Object.keys(english)) {
        if (!used.has(key) && !used.has(key.replace(/\.(one|other)$/, ""))) {
            faults.push(`texts: nothing uses ${key}`);
        }
    }
}

// Returns the strings of the code.  People's words may stand in texts/ only.
function readCode() {
    const used = new Set();
    for (const name of filesBelow(path.join(work, "src"), [".ts", ".tsx"])) {
        const file = typescript.createSourceFile(name, read(work, "src", name), typescript.ScriptTarget.Latest, true);
        const visit = (node) => {
            const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
            if (typescript.isStringLiteralLike(node)) {
                used.add(node.text);
            }
            if (typescript.isJsxText(node) && /\p{L}/u.test(node.text)) {
                faults.push(`src/${name}:${line + 1}: a text in the code: ${node.text.trim()}`);
            }
            if (
                typescript.isJsxAttribute(node) &&
                READ_ALOUD.includes(node.name.getText(file)) &&
                node.initializer &&
                typescript.isStringLiteral(node.initializer) &&
                /\p{L}/u.test(node.initializer.text)
            ) {
                faults.push(`src/${name}:${line + 1}: a text in the code: ${node.initializer.text}`);
            }
            typescript.forEachChild(node, visit);
        };
        visit(file);
    }
    return used;
}

// ---- files ----

const shared = {
    absWorkingDir: work,
    bundle: true,
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    target: ["es2022"],
};

const jsx = { jsx: "automatic", jsxImportSource: "preact" };

function bundle() {
    esbuild.buildSync({
        ...shared,
        entryPoints: ["src/main.tsx"],
        outfile: path.join(folder, "console.js"),
        format: "iife",
        minify: true,
        ...jsx,
    });
    esbuild.buildSync({
        ...shared,
        entryPoints: [path.join(sources, "style.css")],
        outfile: path.join(folder, "console.css"),
        minify: true,
    });
}

// What tests import: each file of src but the page's own as a module of Node.js.  They share what they
// import, so that a test finds the same session as the file that it tests.
function compileModules() {
    const names = filesBelow(path.join(work, "src"), [".ts", ".tsx"]).filter((name) => name !== "main.tsx");
    const modules = path.join(work, "modules");
    fs.rmSync(modules, { recursive: true, force: true });
    esbuild.buildSync({
        ...shared,
        ...jsx,
        entryPoints: names.map((name) => "src/" + name),
        outbase: "src",
        outdir: modules,
        outExtension: { ".js": ".mjs" },
        splitting: true,
        format: "esm",
        platform: "node",
        target: ["node18"],
    });
}

function copy() {
    const page = read(sources, "page", "index.html");
    fs.writeFileSync(path.join(folder, "index.html"), page);
    // The same page for /console/, where the other files are in the same folder.
    fs.writeFileSync(path.join(folder, "folder.html"), page.replaceAll('"console/', '"'));
    fs.copyFileSync(path.join(sources, "page", "icon.svg"), path.join(folder, "icon.svg"));
    const licences = LICENCES.map((name) => `${name}\n\n${read(work, "node_modules", name, "LICENSE").trim()}\n`);
    fs.writeFileSync(path.join(folder, "licences.txt"), licences.join("\n\n"));
}

function checkSize() {
    let sum = 0;
    for (const name of fs.readdirSync(folder)) {
        sum += execFileSync("gzip", ["-9", "-c", path.join(folder, name)]).length;
    }
    if (sum > SIZE_MAX) {
        faults.push(`all files have ${sum} bytes compressed; at most ${SIZE_MAX} are allowed`);
    }
}

fs.rmSync(folder, { recursive: true, force: true });
fs.mkdirSync(folder);
checkTexts(readCode());
bundle();
compileModules();
copy();
checkSize();
if (faults.length > 0) {
    process.stderr.write(faults.map((fault) => `console: ${fault}\n`).join(""));
    process.exit(1);
}
for (const name of fs.readdirSync(target)) {
    fs.rmSync(path.join(target, name));
}
fs.cpSync(folder, target, { recursive: true });
