// Numbers, money and times as text. Money is an integer of micro-dollars everywhere.
const LOCALE = 'en-US';
const whole = new Intl.NumberFormat(LOCALE);
const compactFormat = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 });
const cents = new Intl.NumberFormat(LOCALE, { style: 'currency', currency: 'USD' });
// A formatter takes far longer to make than to use.
const fractions = new Map();
/** A number with `least` to `most` digits behind the point. */
function digits(value, most, least = 0) {
  const key = most * 10 + least;
  if (!fractions.has(key)) fractions.set(key, new Intl.NumberFormat(LOCALE, { minimumFractionDigits: least, maximumFractionDigits: most }));
  return fractions.get(key).format(value);
}

const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
export const MISSING = '–';

/** "1 entity", "3 entities": `noun` is the plural, followed by what does not change, as in "notices to ops". */
export function count(value, noun) {
  const [word, ...rest] = noun.split(' ');
  const one = word.replace(/ies$/, 'y').replace(/s$/, '');
  return [number(value), value === 1 ? one : word, ...rest].join(' ');
}
export const number = (value) => (isMissing(value) ? MISSING : whole.format(value));
export const compact = (value) => (isMissing(value) ? MISSING : compactFormat.format(value));
/** $1,234.57: micro-dollars to the cent. */
export const money = (micros) => (isMissing(micros) ? MISSING : cents.format(micros / 1e6));
/** $0.0287, $1,234.57: micro-dollars, below a dollar with as many digits as a price needs. */
export function smallMoney(micros) {
  if (isMissing(micros)) return MISSING;
  const isSmall = micros !== 0 && Math.abs(micros) < 1e6;
  return isSmall ? `$${(micros / 1e6).toFixed(Math.abs(micros) < 100 ? 6 : 4)}` : money(micros);
}
/** $1,234.567890: every micro-dollar, without a floating-point step. */
export function exactMoney(micros) {
  if (isMissing(micros)) return MISSING;
  const sign = micros < 0 ? '-' : '';
  const all = BigInt(Math.round(Math.abs(micros)));
  // Beyond 2^53 the browser has read a rounded number.
  return `${all > 9007199254740991n ? 'about ' : ''}${sign}$${whole.format(all / 1000000n)}.${String(all % 1000000n).padStart(6, '0')}`;
}
/** To the cent where that is all, else exact: for amounts that are compared or saved. */
export const fullMoney = (micros) => (micros % 10000 === 0 ? money(micros) : exactMoney(micros));
/** 82.4 %: from percent points. */
export const percent = (value, most = 1) => (isMissing(value) ? MISSING : `${digits(value, most)} %`);
export const share = (part, total, most = 1) => percent(total ? (part / total) * 100 : null, most);

export function duration(ms) {
  if (isMissing(ms)) return MISSING;
  if (ms > 0 && ms < 0.1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${whole.format(Math.round(ms * 10) / 10)} ms`;
  const secs = ms / 1000;
  if (secs < 60) return `${digits(secs, 1)} s`;
  const [unit, name, part, partName] = secs < 3600 ? [60, 'min', 1, 's'] : secs < 86400 ? [3600, 'h', 60, 'min'] : [86400, 'd', 3600, 'h'];
  const rest = Math.floor((secs % unit) / part);
  return `${Math.floor(secs / unit)} ${name}${rest ? ` ${rest} ${partName}` : ''}`;
}

const STEPS = [[60, 1, 's'], [3600, 60, 'min'], [86400, 3600, 'h'], [30 * 86400, 86400, 'd'], [365 * 86400, 30 * 86400, 'mo'], [Infinity, 365 * 86400, 'y']];
/** "5 min ago", "in 3 h". */
export function relative(time, now = Date.now()) {
  if (isMissing(time)) return MISSING;
  const secs = Math.round((now - new Date(time).getTime()) / 1000);
  const size = Math.abs(secs);
  if (size < 5) return 'now';
  const [, unit, name] = STEPS.find(([below]) => size < below);
  const text = `${Math.floor(size / unit)} ${name}`;
  return secs >= 0 ? `${text} ago` : `in ${text}`;
}

/** The zone of this browser, named when an org has none of its own. */
export const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const formats = new Map();
function format(zone, options) {
  const key = `${zone}|${JSON.stringify(options)}`;
  if (!formats.has(key)) {
    let made;
    try { made = new Intl.DateTimeFormat('en-GB', { timeZone: zone, ...options }); } catch { made = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options }); }
    formats.set(key, made);
  }
  return formats.get(key);
}
/** 18 Nov 2026, 21:40:05 Europe/Berlin */
export function exactTime(time, zone = HERE) {
  if (isMissing(time)) return MISSING;
  if (Number.isNaN(new Date(time).getTime())) return MISSING;
  const text = format(zone, {
    day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit',
  }).format(new Date(time));
  return `${text} ${zone}`;
}
export const clock = (time, zone = HERE) => format(zone, { hour: '2-digit', minute: '2-digit' }).format(new Date(time));
export const dayName = (time, zone = HERE) => format(zone, { day: 'numeric', month: 'short' }).format(new Date(time));
/** Whether a text is a day such as 2026-11-18. */
export const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
/** Today's date in a zone, as 2026-11-18. */
export function today(zone = HERE, now = Date.now()) {
  const parts = format(zone, { year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(new Date(now));
  return ['year', 'month', 'day'].map((type) => parts.find((part) => part.type === type).value).join('-');
}
/** Adds days to a date such as 2026-11-18. */
export function addDays(date, days) {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86400000).toISOString().slice(0, 10);
}
/** Seconds of the wall clock of a zone as if it were UTC, to place an instant on an axis of days. */
export function wallSeconds(time, zone) {
  const parts = format(zone, { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', hourCycle: 'h23' })
    .formatToParts(new Date(time));
  const get = (type) => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return Date.UTC(get('year'), get('month') - 1, get('day'), get('hour'), get('minute')) / 1000;
}
/** The weekday of a date such as 2026-11-18: Wednesday. */
export const weekday = (date) => format('UTC', { weekday: 'long' }).format(new Date(`${date}T12:00:00Z`));
/** 41.2 GiB */
export function bytes(value) {
  if (isMissing(value)) return MISSING;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const step = value > 0 ? Math.min(Math.floor(Math.log2(value) / 10), units.length - 1) : 0;
  return `${digits(value / 1024 ** step, step ? 1 : 0)} ${units[step]}`;
}
/** Dollars for an axis: $0.05, $12, $1,200. */
export function axisMoney(micros) {
  const dollars = micros / 1e6;
  const places = Math.abs(dollars) >= 10 || Number.isInteger(dollars) ? 0 : 2;
  return `$${digits(dollars, places, places)}`;
}
const REORDERING = /[\u202A-\u202E\u2066-\u2069]/g;
/** Text whose marks that reorder what follows are written out: they can make code and names look like others. */
export const plain = (text) => String(text ?? '').replace(REORDERING, (mark) => `[U+${mark.codePointAt(0).toString(16).toUpperCase()}]`);
