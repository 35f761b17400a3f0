/** Bundles the page: `node build.mjs MODULES TARGET`, with the folder of the installed packages and that of the result. */

import { copyFile, mkdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [modules, target] = process.argv.slice(2).map((path) => resolve(path));
const source = join(import.meta.dirname, "source");
const { build } = createRequire(join(modules, "_"))("esbuild");

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
await build({
  entryPoints: { app: join(source, "main.js") },
  outdir: target,
  nodePaths: [modules],
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome123", "firefox125", "safari17.5"],
  external: ["/static/*"],
  legalComments: "eof",
  logLevel: "warning",
});
for (const name of ["index.html", "icon.svg"]) await copyFile(join(source, name), join(target, name));
