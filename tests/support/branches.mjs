// Computes the positions of tree nodes, as the explorer draws them: `node branches.mjs MODULE` reads a list
// of [parents, path] from standard input, and prints the list of results of `placed`.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { placed } = await import(pathToFileURL(process.argv[2]));
const trees = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(trees.map(([parents, path]) => placed(parents, path))));
