// A canvas to draw on with a pen, finger, mouse or keyboard. Strokes are dark on white, and buttons can undo them.

const INK = "#1c2430", PAPER = "#fff", CURSOR = "#a3201b";
export const PEN = 6;  // width in pixels; the canvas is 320 pixels high
const STEP = 8;  // number of pixels that a key moves the pen
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Drawing {
  /** Listen to the elements `paper`, `undo`, `clear`, `pen` and `form` of a page; call `changed` after each stroke. */
  constructor(page, changed = () => {}) {
    Object.assign(this, { page, changed, paper: page.paper, context: page.paper.getContext("2d") });
    this.strokes = [];  // lists of points [x, y]; y points down
    this.cursor = null;  // pen of the keyboard: {x, y, down}
    for (const [name, action] of Object.entries({
      pointerdown: this.put, pointermove: this.move, pointerup: this.lift, pointercancel: this.lift, keydown: this.press,
      blur: this.leave,
    })) this.paper.addEventListener(name, action.bind(this));
    page.undo.addEventListener("click", () => this.undo());
    page.clear.addEventListener("click", () => this.clear());
    this.show();
  }

  undo() {
    this.strokes.pop();
    if (this.cursor) this.cursor.down = false; // otherwise the next arrow key would continue the previous stroke
    this.pointer = undefined;
    this.end(`Strokes: ${this.strokes.length}.`);
  }

  clear() {
    this.strokes = [];
    this.pointer = undefined;
    this.end("The paper is empty.");
  }

  put(event) {
    if (!event.isPrimary || event.button) return;
    event.preventDefault();
    this.paper.focus({ preventScroll: true });
    this.paper.setPointerCapture(event.pointerId);
    this.cursor = null;
    this.pointer = event.pointerId;
    this.strokes.push([this.pointOf(event)]);
    this.showBehind(null);
  }

  move(event) {
    if (event.pointerId !== this.pointer) return;
    const events = event.getCoalescedEvents?.() ?? [];
    this.strokes.at(-1).push(...(events.length ? events : [event]).map((one) => this.pointOf(one)));
    this.show();
  }

  lift(event) {
    if (event.pointerId !== this.pointer) return;
    this.pointer = undefined;
    this.end(`Strokes: ${this.strokes.length}.`);
  }

  /** Draw with keys: arrows move the pen, Space puts it down or lifts it, Backspace undoes a stroke. */
  press(event) {
    const { key } = event;
    const known = key in ARROWS || [" ", "Backspace", "Enter"].includes(key);
    if (!known || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    if (key === "Enter") return this.page.form.requestSubmit();
    if (key === "Backspace") return this.undo();
    this.cursor ??= { x: this.paper.width / 4, y: this.paper.height / 2, down: false };
    const { cursor } = this;
    const draws = key === " " || cursor.down;
    if (key === " ") {
      cursor.down = !cursor.down;
      if (cursor.down) this.strokes.push([[cursor.x, cursor.y]]);
    } else {
      const [right, down] = ARROWS[key].map((way) => way * STEP * (event.shiftKey ? 4 : 1));
      cursor.x = Math.min(Math.max(cursor.x + right, 0), this.paper.width);
      cursor.y = Math.min(Math.max(cursor.y + down, 0), this.paper.height);
      if (cursor.down) this.strokes.at(-1).push([cursor.x, cursor.y]);
    }
    const [x, y] = [cursor.x / this.paper.width, cursor.y / this.paper.height].map((share) => Math.round(100 * share));
    this.end(`Pen ${cursor.down ? "down" : "up"}, ${x}% from the left, ${y}% from the top.`, draws);
  }

  leave() {
    this.cursor = null;
    this.show();
  }

  /** Describe the last action on the page, and call `changed` if it drew or undid something. */
  end(words, draws = true) {
    if (this.cursor?.down && !this.strokes.length) this.cursor.down = false;
    this.page.pen.textContent = words;
    if (!draws) return this.show();
    this.showBehind(null);
    this.changed(this);
  }

  /** Convert a position on the screen to pixels of the canvas. */
  pointOf({ clientX, clientY }) {
    const { left, top, width, height } = this.paper.getBoundingClientRect();
    return [(clientX - left) * this.paper.width / width, (clientY - top) * this.paper.height / height];
  }

  /** Show a picture (an `ImageBitmap`, or null for none) behind the strokes until something is drawn. */
  showBehind(picture) {
    this.picture?.close();
    this.picture = picture;
    this.show();
  }

  /** Draw the strokes, on top of the picture if there is one. */
  show() {
    const { picture } = this, { width, height } = this.paper;
    this.context.fillStyle = PAPER;
    this.context.fillRect(0, 0, width, height);
    if (picture) {
      const scale = Math.min(width / picture.width, height / picture.height);
      this.context.drawImage(picture, 0, 0, picture.width * scale, picture.height * scale);
    }
    drawStrokes(this.context, this.strokes, INK, PEN);
    if (!this.cursor) return;
    this.context.fillStyle = CURSOR;
    this.context.beginPath();
    this.context.arc(this.cursor.x, this.cursor.y, PEN, 0, 2 * Math.PI);
    this.context.fill();
  }
}

/** Draw strokes as lines with round ends; a single point becomes a dot. */
export function drawStrokes(context, strokes, colour, width) {
  Object.assign(context, { strokeStyle: colour, lineWidth: width, lineCap: "round", lineJoin: "round" });
  for (const stroke of strokes) {
    context.beginPath();
    context.moveTo(...stroke[0]);
    for (const point of stroke) context.lineTo(...point);
    context.stroke();
  }
}
