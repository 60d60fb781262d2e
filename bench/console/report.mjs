// The table: a row for each page.

export const number = (value) => Math.round(value).toLocaleString('en-US').replaceAll(',', ' ');

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(at)] : (sorted[at - 1] + sorted[at]) / 2;
}

const HEADS = ['page', 'API requests', 'API KiB', 'cold ms', 'worst', 'warm ms', 'worst', 'inside ms', 'worst', 'slowest API request', 'server ms', ''];

/** The path of a request without the ids in it. */
const shape = (path, of) => {
  const ids = Object.entries(of).map(([kind, id]) => [`/${encodeURIComponent(id)}`, `/{${kind}}`]).sort(([a], [b]) => b.length - a.length);
  return ids.reduce((text, [id, name]) => (text.endsWith(id) || text.includes(`${id}/`) ? text.replace(id, name) : text), path);
};

/** The API request with the highest median of the server's time, over all visits. */
function slowest(visits, of) {
  const times = new Map();
  for (const { api } of visits) for (const { path, server } of api) times.set(path, [...times.get(path) ?? [], server]);
  const [path, ms] = [...times].map(([at, all]) => [at, median(all)]).reduce((a, b) => (b[1] > a[1] ? b : a), ['-', 0]);
  return [shape(path, of), ms.toFixed(1)];
}

/** One row: what a page asked for, and how long it took; a mark where the median of any kind is over the goal. */
export function row(name, { cold, warm, inside }, of, goal) {
  const all = [...cold, ...warm, ...inside];
  const times = [cold, warm, inside].map((visits) => visits.map((visit) => visit.ms));
  const cells = times.flatMap((ms) => [number(median(ms)), number(Math.max(...ms))]);
  const isOver = times.some((ms) => median(ms) > goal);
  const isOverOnce = times.some((ms) => Math.max(...ms) > goal);
  return [name, String(median(warm.map((visit) => visit.api.length))), (median(warm.map((visit) => visit.apiBytes)) / 1024).toFixed(1), ...cells, ...slowest(all, of),
    isOver ? 'over' : isOverOnce ? 'once' : ''];
}

/** The table as text. Words to the left, figures to the right. */
export function table(rows) {
  const all = [HEADS, ...rows];
  const widths = HEADS.map((_, at) => Math.max(...all.map((cells) => cells[at].length)));
  const isLeft = (at) => at === 0 || at === 9 || at === 11;
  const line = (cells) => `| ${cells.map((cell, at) => (isLeft(at) ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join(' | ')} |`;
  return [line(HEADS), `|${widths.map((width, at) => (isLeft(at) ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`, ...rows.map(line)].join('\n');
}
