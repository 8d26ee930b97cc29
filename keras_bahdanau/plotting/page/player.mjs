// The current place in the page (input, side and step), and the controls that change it.

import { byId } from "./elements.mjs";

const PAUSE = 1600;
const OWN_KEYS = "input, select, textarea, [role=button], td, [contenteditable]";

export class Player {
  /** `inputs` are lists of traces, `show(place)` is called when the place changes, `pause` is in ms per step. */
  constructor(inputs, show, pause = PAUSE) {
    this.inputs = inputs;
    this.show = show;
    this.pause = pause;
    this.place = { input: 0, side: 0, step: 0 };
    this.timer = null;
    for (const [id, move] of [["first", "Home"], ["back", "ArrowLeft"], ["forward", "ArrowRight"], ["last", "End"]]) {
      byId(id).addEventListener("click", () => this.press(move));
    }
    byId("play").addEventListener("click", () => this.toggle());
    byId("slider").addEventListener("input", ({ target }) => this.go({ step: Number(target.value) - 1 }));
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.follow());
  }

  get trace() {
    return this.inputs[this.place.input][this.place.side];
  }

  get steps() {
    return this.trace.target.length;
  }

  /** Go to a place. Missing parts stay the same, and numbers out of range become the nearest valid ones. */
  go(change) {
    const place = { ...this.place, ...change };
    place.input = within(place.input, this.inputs.length);
    place.side = within(place.side, this.inputs[place.input].length);
    place.step = within(place.step, this.inputs[place.input][place.side].target.length);
    this.place = place;
    const address = `#${[place.input, place.side, place.step].map((number) => number + 1).join(".")}`;
    byId("link").href = address;
    try {
      history.replaceState(null, "", address);
    } catch {
      // browsers limit how often this may be called, and some frames have no history
    }
    const [step, last] = [place.step, Math.max(0, this.steps - 1)];
    byId("slider").max = Math.max(1, this.steps);
    byId("slider").value = step + 1;
    byId("slider").setAttribute("aria-valuetext", `Step ${step + 1} of ${this.steps}`);
    byId("number").textContent = step + 1;
    byId("play").disabled = byId("slider").disabled = last === 0;
    byId("first").disabled = byId("back").disabled = step === 0;
    byId("last").disabled = byId("forward").disabled = step === last;
    this.show(place);
  }

  /** Go to the place in the address. */
  follow() {
    const numbers = location.hash.slice(1).split(".").map(Number);
    const valid = numbers.length === 3 && numbers.every(Number.isInteger);
    const [input, side, step] = valid ? numbers.map((number) => number - 1) : [0, 0, 0];
    this.go({ input, side, step });
  }

  /** Perform the action of a key; returns true if it has one. */
  press(key) {
    const { step } = this.place;
    const goals = { Home: 0, ArrowLeft: step - 1, ArrowRight: step + 1, End: this.steps - 1 };
    if (!(key in goals)) return false;
    this.stop();
    this.go({ step: goals[key] });
    return true;
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.(OWN_KEYS)) return;
    const plays = event.key === " " && !event.target.closest?.("button, a");
    if (plays) this.toggle();
    if (plays || this.press(event.key)) event.preventDefault();
  }

  toggle() {
    if (this.timer !== null) return this.stop();
    if (this.place.step >= this.steps - 1) this.go({ step: 0 });
    this.timer = setInterval(() => {
      this.go({ step: this.place.step + 1 });
      if (this.place.step >= this.steps - 1) this.stop();
    }, this.pause);
    this.name("Stop", true);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.name("Play", false);
  }

  name(text, pressed) {
    const button = byId("play");
    button.textContent = text;
    button.setAttribute("aria-label", text);
    button.setAttribute("aria-pressed", pressed);
  }
}

function within(number, count) {
  return Math.max(0, Math.min(number, count - 1));
}
