// Bundles src/ into workbench/views/static; with --check, fails when the committed bundle differs.

import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../../workbench/views/static");
const isCheck = process.argv.includes("--check");
const LIMITS = { bytes: 700_000, gzipped: 240_000 };

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
  write: !isCheck,
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
const files = isCheck ? result.outputFiles : await written();
for (const file of files) {
  const name = relative(target, file.path);
  const gzipped = gzipSync(file.contents, { level: 9 }).length;
  console.log(`${name}: ${file.contents.length} bytes, ${gzipped} gzipped`);
  if (file.contents.length > LIMITS.bytes || gzipped > LIMITS.gzipped) {
    console.error(`${name} is larger than ${LIMITS.bytes} bytes or ${LIMITS.gzipped} gzipped.`);
    failed = true;
  }
  const before = isCheck ? await committed(file.path) : file.contents;
  if (!before || !Buffer.from(file.contents).equals(before)) {
    console.error(`${name} is not what src/ builds to: run npm run build and commit it.`);
    failed = true;
  }
}
process.exit(failed ? 1 : 0);

async function written() {
  const names = ["workbench.js", "workbench.css"];
  return Promise.all(
    names.map(async (name) => {
      const path = join(target, name);
      return { path, contents: await readFile(path) };
    }),
  );
}
