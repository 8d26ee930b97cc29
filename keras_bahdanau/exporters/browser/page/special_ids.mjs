// The ids of padding, unknown, start and end in every vocabulary.

export const PAD = 0, UNKNOWN = 1, START = 2, END = 3;
