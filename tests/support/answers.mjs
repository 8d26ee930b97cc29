// Compares the JavaScript translator, in Node, with the answers in a conformance file. Prints JSON: the
// number of answers, how many differ, the largest difference of scores, the peak memory in MiB, and
// milliseconds of processor time, which a busy machine doesn't affect, for loading and, as medians, for
// the searches.
//
//   node answers.mjs TRANSLATE.mjs MODEL.tflite FILE.json      (where @litertjs/core is installed)

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [program, model, file] = process.argv.slice(2);
const { litertInNode, Translator } = await import(pathToFileURL(program));
const used = () => Object.values(process.cpuUsage()).reduce((a, b) => a + b) / 1000;
const began = used();
const translator = await Translator.load(await litertInNode(), new Uint8Array(readFileSync(model)));
const loaded = used() - began;
const kinds = { best: "", greedy: "_greedy", nbest: "_nbest" };
const [wrong, times] = [[], { best: [], greedy: [], nbest: [] }];
let [answers, difference, refused] = [0, 0, 0];

for (const { text, ids, ...searches } of JSON.parse(readFileSync(file, "utf8")).answers.inputs) {
  if (!("best" in searches)) {
    const error = await translator.translate(text).catch((error) => error);
    if (!(error instanceof Error) || !error.message.includes(`Received: ${ids.length} tokens`)) wrong.push({ text });
    refused += 1;
    continue;
  }
  if (JSON.stringify(translator.sourceIds(text)) !== JSON.stringify(ids)) wrong.push({ text, ids });
  for (const [name, { hypotheses }] of Object.entries(searches)) {
    const start = used();
    const found = await translator.translate(text, kinds[name]);
    times[name].push(used() - start);
    answers += 1;
    const [received, expected] = [found, hypotheses].map((list) => list.map((one) => one.text));
    if (JSON.stringify(received) !== JSON.stringify(expected)) wrong.push({ name, text, received, expected });
    found.forEach((one, index) => {
      difference = Math.max(difference, Math.abs(one.score - hypotheses[index]?.score));
      const sums = one.alignment.map((row) => row.reduce((sum, weight) => sum + weight, 0));
      if (sums.some((sum) => Math.abs(sum - 1) > 1e-4)) wrong.push({ name, text, sums });
    });
  }
}
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
const milliseconds = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)]));
const peak = process.resourceUsage().maxRSS / 1024;
console.log(JSON.stringify({
  answers, refused, difference, loaded, milliseconds, peak, wrong: wrong.length, first: wrong.slice(0, 3),
}));
