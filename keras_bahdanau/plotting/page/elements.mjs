// Elements of the page, and tokens as a reader sees them.

const SVG = "http://www.w3.org/2000/svg";
const WORD_START = "\u2581";
const NAMES = new Map(Object.entries({ "": "padding", "<pad>": "padding", "<s>": "start", "</s>": "end", "<unk>": "unknown", [WORD_START]: "␣" }));
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const FROM_THE_RIGHT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** An element of HTML with attributes and children: elements, or strings. */
export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same of SVG. */
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

/** The element of that id. */
export function byId(id) {
  return document.getElementById(id);
}

/** A piece as it is read, without the mark of a word's start; wide letters count as two. */
export function label(token, longest = 24) {
  const text = NAMES.get(token) ?? token.replaceAll(WORD_START, " ").trim();
  const characters = [...text];
  const widths = characters.map((character) => (WIDE.test(character) ? 2 : 1));
  if (widths.reduce((sum, width) => sum + width, 0) <= longest) return text;
  let [count, room] = [0, longest - 1];
  while (widths[count] <= room) room -= widths[count++];
  return `${characters.slice(0, count).join("")}…`;
}

/** True for a piece that goes on with the word before it. */
export function goesOn(token, place) {
  return place > 0 && !NAMES.has(token) && !token.startsWith(WORD_START);
}

/** True for a token that is a mark of the model, no text. */
export function isMark(token) {
  return NAMES.has(token);
}

/** "rtl" for tokens of a script that is written from the right. */
export function directionOf(tokens) {
  return FROM_THE_RIGHT.test(tokens.join("")) ? "rtl" : "ltr";
}

/** An index in letters below the line, such as that of h₃. */
export function subscript(number) {
  return [...String(number)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit] ?? "₋").join("");
}

/** Give the focus to one of elements with arrows: they are one stop of the tab key. */
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
