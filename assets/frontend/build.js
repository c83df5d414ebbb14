// Bundles src/ into workbench/views/static; with --check, fails when the committed bundle differs.

import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../../workbench/views/static");
const isCheck = process.argv.includes("--check");

const result = await build({
  absWorkingDir: here,
  entryPoints: { workbench: "src/index.tsx" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  write: false,
  logLevel: "warning",
});

async function committed(path) {
  try {
    return await readFile(path);
  } catch {
    return null;
  }
}

let failed = false;
for (const { path, text } of result.outputFiles) {
  const file = { path, contents: Buffer.from(path.endsWith(".js") ? await smaller(text) : text) };
  const name = relative(target, file.path);
  const gzipped = gzipSync(file.contents, { level: 9 }).length;
  console.log(`${name}: ${file.contents.length} bytes, ${gzipped} gzipped`);
  if (!isCheck) await writeFile(path, file.contents);
  else if (!(await committed(path))?.equals(file.contents)) {
    console.error(`${name} is not what src/ builds to: run npm run build and commit it.`);
    failed = true;
  }
}
process.exit(failed ? 1 : 0);

/** esbuild works file by file; terser, in four rounds over all of it, takes 3 % of gzip more. */
async function smaller(text) {
  const format = { ecma: 2020 };
  const { code } = await minify(text, {
    module: true,
    // an arrow is shorter: no function here that is not a class is called with `new`
    compress: { passes: 4, ecma: 2020, unsafe_arrows: true, sequences: false },
    format,
  });
  return code;
}
