// Layout of the nodes of a tree, with a column for each step and a row for each branch.

/**
 * Return the columns and rows of nodes as {columns, rows, children, count}.
 *
 * `parents` contains the number of each node's parent, or -1 for the root; a parent comes before its children.
 * `path` contains the nodes of the branch in row 0. A branch stays in one row from where it leaves its parent to
 * its last node. It gets the first row below its parent's row that is free in these columns, so that rows are
 * used again after a branch ends.
 */
export function placed(parents, path) {
  const children = parents.map(() => []);
  const roots = [];
  const columns = [];
  parents.forEach((parent, node) => {
    (parent < 0 ? roots : children[parent]).push(node);
    columns.push(parent < 0 ? 0 : columns[parent] + 1);
  });
  const ends = lastColumns(columns, parents);
  const first = new Set(path);
  const before = (one, other) => first.has(other) - first.has(one) || ends[other] - ends[one] || one - other;
  for (const siblings of [roots, ...children]) siblings.sort(before);
  const rows = Array(parents.length).fill(0);
  const taken = [];  // for each row, pairs of a first and a last column

  function place(node, above) {
    const branch = [node];
    while (children[branch.at(-1)].length) branch.push(children[branch.at(-1)][0]);
    const [from, to] = [columns[node] - 0.5, columns[branch.at(-1)]];  // including the space for its curve
    let row = above;
    while ((taken[row] ?? []).some(([start, end]) => start <= to && from <= end)) ++row;
    (taken[row] ??= []).push([from, to]);
    for (const one of branch) rows[one] = row;
    // branches that leave last are placed nearest, so that no curves cross
    for (const one of branch.toReversed()) children[one].slice(1).forEach((child) => place(child, row + 1));
  }

  roots.forEach((root) => place(root, 0));
  return { columns, rows, children, count: taken.length };
}

function lastColumns(columns, parents) {
  const ends = [...columns];
  for (let node = parents.length - 1; node >= 0; --node) {
    if (parents[node] >= 0) ends[parents[node]] = Math.max(ends[parents[node]], ends[node]);
  }
  return ends;
}
