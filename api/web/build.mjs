/** Bundles the page: `node build.mjs MODULES TARGET`, with the folder of the installed packages and that of the result. */

import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [modules, target] = process.argv.slice(2).map((path) => resolve(path));
const source = join(import.meta.dirname, "source");
const { build } = createRequire(join(modules, "_"))("esbuild");

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
const { metafile } = await build({
  entryPoints: { app: join(source, "main.js") },
  outdir: target,
  nodePaths: [modules],
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome123", "firefox125", "safari17.5"],
  external: ["/static/*"],
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});
await writeFile(join(target, "licenses.txt"), await collectLicenses(Object.keys(metafile.inputs)));
for (const name of ["index.html", "icon.svg"]) await copyFile(join(source, name), join(target, name));

/** Returns the licences of the packages that are in the bundle. */
async function collectLicenses(inputs) {
  const found = inputs.map((path) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean);
  const texts = [...new Set(found)].sort().map(async (folder) => {
    const { name, version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    return `${name} ${version}\n\n${await readFile(join(folder, file), "utf8")}`;
  });
  return (await Promise.all(texts)).join("\n----\n\n");
}
