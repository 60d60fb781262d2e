// Rates as people write them: `rpm=100/min,burst=200`, the grammar of `weir limiter limits set --limit`.

const UNITS = [['day', 86400], ['h', 3600], ['min', 60], ['s', 1]];
const SECONDS = { s: 1, sec: 1, second: 1, min: 60, m: 60, minute: 60, h: 3600, hour: 3600, d: 86400, day: 86400 };
const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/

/** The period of a limit, as the command line writes it: `min`, `5min`, `90s`. */
export function period(seconds) {
  const [unit, of] = UNITS.find(([, of]) => seconds % of === 0);
  return seconds === of ? unit : `${seconds / of}${unit}`;
}

/** A limit without its name: `100/min,burst=200`. */
export function rate(limit) {
  const burst = limit.capacity === limit.refill_amount ? '' : `,burst=${limit.capacity}`;
  return `${limit.refill_amount}/${period(limit.refill_period_seconds)}${burst}`;
}

/** A limit for people: `10,000 / min, burst 20,000`. */
export function readable(limit) {
  const burst = limit.capacity === limit.refill_amount ? '' : `, burst ${limit.capacity.toLocaleString('en-US')}`;
  return `${limit.refill_amount.toLocaleString('en-US')} / ${period(limit.refill_period_seconds)}${burst}`;
}

/** Reads a rate; throws an error that says what is wrong. */
export function parseRate(text) {
  const match = /^\s*([\d,_ ]+)\s*\/\s*(\d*)\s*([A-Za-z]+)\s*(?:,\s*burst\s*=?\s*([\d,_ ]+))?\s*$/.exec(text);
  if (!match) throw new Error('write it as 100/min, or 100/min,burst=200');
  const [, amount, count, unit, burst] = match;
  const seconds = SECONDS[unit.toLowerCase().replace(/s$/, '') || 's'];
  if (!seconds) throw new Error(`${unit} is no period; use s, min, h or day`);
  const refill = whole(amount);
  const limit = { capacity: burst === undefined ? refill : whole(burst), refill_amount: refill, refill_period_seconds: seconds * (count === '' ? 1 : Number(count)) };
  if (Object.values(limit).some((value) => !Number.isSafeInteger(value) || value < 1)) throw new Error('amounts are whole numbers from 1');
  return limit;
}

function whole(text) {
  return Number(text.replace(/[,_ ]/g, ''));
}

/** Reads the rows of the editor: `{limits}` or `{errors}`, one per row. */
export function parseRows(rows) {
  const seen = new Set();
  const errors = rows.map(({ name, text }) => {
    try {
      if (!NAME.test(name)) return 'a name is letters, digits, _ . - and begins with a letter';
      if (seen.has(name)) return `${name} is there twice`;
      seen.add(name);
      parseRate(text);
      return null;
    } catch (error) {
      return error.message;
    }
  });
  if (errors.some(Boolean)) return { errors };
  return { errors, limits: rows.map(({ name, text }) => ({ name, ...parseRate(text) })) };
}

/** The same limits, whatever their order. */
export function sameLimits(some, others) {
  const key = (limits) => JSON.stringify([...limits].map((l) => `${l.name}=${rate(l)}`).sort());
  return key(some ?? []) === key(others ?? []);
}

/** Tokens at a time, between two readings: what was there and what has been refilled since, up to the capacity. */
export function filled(limit, elapsedMs) {
  const refilled = (limit.refill_amount * elapsedMs) / (limit.refill_period_seconds * 1000);
  return Math.min(limit.capacity, Math.floor(limit.available + refilled));
}
