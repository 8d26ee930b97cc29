// Merges pieces by byte-pair encoding (Sennrich et al. 2016): the best pair first, and the leftmost of equal pairs.

/** Return the pieces after all merges. Frozen pieces are never merged. The last argument is a `SentencePiece`. */
export function merged(pieces, frozen, { known, scores }) {
  const before = pieces.map((_, index) => index - 1);
  const after = pieces.map((_, index) => index + 1);
  const heap = new Heap((a, b) => a.score > b.score || (a.score === b.score && a.left < b.left));
  pieces = [...pieces];
  const consider = (left, right) => {
    if (left < 0 || right >= pieces.length || frozen[left] || frozen[right]) return;
    const piece = pieces[left] + pieces[right];
    const id = known.get(piece);
    if (id !== undefined) heap.push({ left, right, piece, score: scores[id] });
  };
  for (let index = 1; index < pieces.length; ++index) consider(index - 1, index);
  for (let pair; (pair = heap.pop());) {
    const { left, right, piece } = pair;
    if (!pieces[left] || !pieces[right]) continue;  // one of them has already been merged
    if (pieces[left].length + pieces[right].length !== piece.length) continue;
    [pieces[left], pieces[right]] = [piece, ""];
    after[left] = after[right];
    if (after[right] < pieces.length) before[after[right]] = left;
    consider(before[left], left);
    consider(left, after[left]);
  }
  return pieces.filter(Boolean);
}

/** A binary heap: `pop` removes and returns the item that comes before all others. */
class Heap {
  constructor(comesBefore) {
    Object.assign(this, { comesBefore, items: [] });
  }

  push(item) {
    const { items } = this;
    let place = items.push(item) - 1;
    for (let parent; place > 0 && this.comesBefore(item, items[parent = (place - 1) >> 1]); place = parent) {
      items[place] = items[parent];
    }
    items[place] = item;
  }

  pop() {
    const { items } = this;
    const [first, last] = [items[0], items.pop()];
    if (!items.length) return first;
    let place = 0;
    for (let child; (child = 2 * place + 1) < items.length; place = child) {
      if (child + 1 < items.length && this.comesBefore(items[child + 1], items[child])) child += 1;
      if (!this.comesBefore(items[child], last)) break;
      items[place] = items[child];
    }
    items[place] = last;
    return first;
  }
}
