// The ids that every vocabulary has: padding, unknown, start and end.

export const PAD = 0, UNKNOWN = 1, START = 2, END = 3;
