// Places of the nodes of trees, as the explorer draws them: `node branches.mjs MODULE` reads a list of
// [parents, path] from its input, and prints a list of what `placed` gives.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { placed } = await import(pathToFileURL(process.argv[2]));
const trees = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(trees.map(([parents, path]) => placed(parents, path))));
