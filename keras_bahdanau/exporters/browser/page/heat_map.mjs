// Shows the attention of an answer as a table: a row for each token of the answer, a column for each source token.

const SPACE = "\u2581", END = "</s>";
const LONGEST = 24;  // maximum number of characters of a token

/** Create the table element for a hypothesis from `Translator.translate`. */
export function heatMap({ tokens, sourceTokens, alignment }) {
  const table = document.createElement("table");
  const heading = table.createTHead().insertRow();
  heading.append(cell("td", ""), ...sourceTokens.map((token) => columnHead(label(token))));
  const body = table.createTBody();
  tokens.forEach((token, row) => {
    const line = body.insertRow();
    line.append(cell("th", label(token), { scope: "row", dir: "auto" }));
    alignment[row].forEach((weight, column) => line.append(weightCell(weight, token, sourceTokens[column])));
  });
  return table;
}

/** Return a token as the plots of the package show it. A mark alone becomes ␣. */
export function label(token) {
  if (token === END) return "end";
  const shown = token === SPACE ? "␣" : token.replaceAll(SPACE, " ").trim();
  const characters = [...shown];
  return characters.length <= LONGEST ? shown : `${characters.slice(0, LONGEST - 1).join("")}…`;
}

function columnHead(text) {
  const head = cell("th", "", { scope: "col" });
  head.append(cell("span", text, { dir: "auto", className: [...text].length > 2 ? "upright" : "" }));
  return head;
}

function weightCell(weight, token, sourceToken) {
  const percent = `${Math.round(100 * weight)}%`;
  const found = cell("td", "", { title: `${label(sourceToken)} → ${label(token)}: ${percent}` });
  found.style.setProperty("--weight", weight.toFixed(3));
  found.append(cell("span", percent, { className: "hidden" }));
  return found;
}

function cell(name, text, properties = {}) {
  return Object.assign(document.createElement(name), { textContent: text, ...properties });
}
