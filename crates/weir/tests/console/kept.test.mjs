// What is made once and kept: formatters of figures, and the colours of a theme.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { close, open, visit } from './browser.mjs';

after(close);

test('each figure has its own digits', async () => {
  const page = await open();
  await visit(page, '/settings/tokens');
  const found = await page.evaluate(async () => {
    const { app_format: f } = await import(document.querySelector('script[type=module]').src);
    const newYear = Date.parse('2026-12-31T12:00:00Z');
    return [f.percent(12.345), f.percent(12.345, 0), f.percent(12.345, 2), f.percent(null), f.share(1, 3), f.duration(1500), f.bytes(1536), f.bytes(512), f.axisMoney(50_000), f.axisMoney(12e6),
      f.today('Pacific/Kiritimati', newYear), f.today('UTC', newYear)];
  });
  assert.deepEqual(found, ['12.3 %', '12 %', '12.35 %', '–', '33.3 %', '1.5 s', '1.5 KiB', '512 B', '$0.05', '$12', '2027-01-01', '2026-12-31']);
});

test('a colour of a chart follows the theme', async () => {
  const page = await open();
  await visit(page, '/settings/tokens');
  const colors = await page.evaluate(async () => {
    const { app_theme: { color, toggleTheme } } = await import(document.querySelector('script[type=module]').src);
    const found = [color('text-1'), color('text-1')];
    for (let i = 0; i < 2; i += 1) { toggleTheme(); found.push(color('text-1')); }
    return found;
  });
  assert.equal(new Set(colors).size, 2, colors.join(', '));
  assert.deepEqual([colors[0], colors[0]], [colors[1], colors[3]]);
});
