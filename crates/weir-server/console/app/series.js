// Colours of series. A model has the same colour on every page: its name selects one of seven (the eighth is for "others"),
// and a name that meets a taken colour gets the next of those that the fewest names have, so that names which come together
// differ. The choice is kept in this browser.
const COUNT = 7;
// Chosen so that common labels, such as premium, standard and economy, start out different.
const SEED = 144;
const KEY = 'weir.series';
let taken;

function load() {
  try { taken = new Map(JSON.parse(localStorage.getItem(KEY)) ?? []); } catch { taken = new Map(); }
}

function hash(text) {
  let value = SEED;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}

/** The number (1 to 7) of a model's colour: class `series-3`, token `series-3`. */
export function seriesOf(name) {
  if (!taken) load();
  if (!taken.has(name)) {
    const uses = Array(COUNT).fill(0);
    for (const one of taken.values()) uses[one - 1] += 1;
    const least = Math.min(...uses);
    let index = hash(name) % COUNT;
    while (uses[index] > least) index = (index + 1) % COUNT;
    taken.set(name, index + 1);
    localStorage.setItem(KEY, JSON.stringify([...taken].slice(-64)));
  }
  return taken.get(name);
}
export const seriesToken = (name) => `series-${seriesOf(name)}`;
