// Creation of elements of the page, and display of tokens.

const SVG = "http://www.w3.org/2000/svg";
const WORD_START = "\u2581";
const NAMES = new Map(Object.entries({ "": "padding", "<pad>": "padding", "<s>": "start", "</s>": "end", "<unk>": "unknown", [WORD_START]: "␣" }));
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const FROM_THE_RIGHT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** Create an HTML element with attributes and children, which are elements or strings. */
export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Create an SVG element with attributes and children. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Return the element with an id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Return a piece for display, without the mark of a word's start; wide letters count as two. */
export function label(token, longest = 24) {
  const text = NAMES.get(token) ?? token.replaceAll(WORD_START, " ").trim();
  const characters = [...text];
  const widths = characters.map((character) => (WIDE.test(character) ? 2 : 1));
  if (widths.reduce((sum, width) => sum + width, 0) <= longest) return text;
  let [count, room] = [0, longest - 1];
  while (widths[count] <= room) room -= widths[count++];
  return `${characters.slice(0, count).join("")}…`;
}

/** Return true for a piece that continues the previous word. */
export function goesOn(token, place) {
  return place > 0 && !NAMES.has(token) && !token.startsWith(WORD_START);
}

/** Return true for a special token of the model, which is not text. */
export function isMark(token) {
  return NAMES.has(token);
}

/** Return "rtl" for tokens in a script that is written from right to left, otherwise "ltr". */
export function directionOf(tokens) {
  return FROM_THE_RIGHT.test(tokens.join("")) ? "rtl" : "ltr";
}

/** Return an index in subscript digits, as in h₃. */
export function subscript(number) {
  return [...String(number)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit] ?? "₋").join("");
}

/** Let arrow keys move the focus among elements, which are a single tab stop. */
export function roving(elements, move) {
  elements.forEach((element, place) => {
    element.setAttribute("tabindex", place ? -1 : 0);
    element.addEventListener("keydown", (event) => {
      const next = elements[move(place, event.key)];
      if (!next) return;
      event.preventDefault();
      event.stopPropagation();
      focusOn(elements, next);
    });
  });
}

function focusOn(elements, next) {
  for (const element of elements) element.setAttribute("tabindex", element === next ? 0 : -1);
  next.focus();
}
