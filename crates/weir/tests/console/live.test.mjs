// Live values: connections that end, are lost, or are not given; tabs that are hidden.
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { createServer, request as ask } from 'node:http';
import { URL_BASE, close, eventually, open, visit } from './browser.mjs';

after(close);

test('a lost connection is shown and recovers', async () => {
  const page = await open();
  await visit(page, '/settings');
  await page.getByText('live', { exact: true }).waitFor();
  await page.route('**/v1/live', (route) => route.abort());
  await page.goto(`${URL_BASE}/settings`);
  await page.getByText('connection lost').waitFor();
  await page.unroute('**/v1/live');
  await page.getByText('live', { exact: true }).waitFor({ timeout: 20_000 });
});

test('a hidden tab asks for nothing, and goes on when it is seen', async () => {
  const page = await open();
  await page.addInitScript(() => {
    window.isHidden = false;
    Object.defineProperty(document, 'hidden', { get: () => window.isHidden });
    window.hide = (is) => { window.isHidden = is; document.dispatchEvent(new Event('visibilitychange')); };
  });
  await visit(page, '/settings/jobs');
  await page.getByText('live', { exact: true }).waitFor();
  await page.evaluate(() => window.hide(true));
  await page.getByText('paused', { exact: true }).waitFor();
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.waitForTimeout(6_500);
  assert.deepEqual(asked, [], 'the jobs are read every five seconds, and live values come every two');
  await page.evaluate(() => window.hide(false));
  await page.getByText('live', { exact: true }).waitFor();
  await eventually(() => asked.some((one) => one.endsWith('/v1/jobs')), true, 'what is older than its interval is read at once');
});

test('a stream that ends goes on with the id of its last event', async () => {
  // Between the browser and the server: the browser's own header is seen only there.
  const ids = [];
  const between = createServer((request, response) => {
    if (request.url !== '/v1/live') {
      const { hostname, port } = new URL(URL_BASE);
      const headers = { ...request.headers, host: `${hostname}:${port}` };
      request.pipe(ask({ hostname, port, path: request.url, method: request.method, headers }, (answer) => { response.writeHead(answer.statusCode, answer.headers); answer.pipe(response); }));
      return;
    }
    ids.push(request.headers['last-event-id'] ?? '');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`retry: 100\nid: ${41 + ids.length}\nevent: tick\ndata: ${JSON.stringify({ at: new Date().toISOString(), limiter: [], limiter_namespaces: [], limiter_totals: { granted_per_sec: 0, refused_per_sec: 0, resources: 0, namespaces: 0 }, keeper: [] })}\n\nevent: reconnect\ndata: {"reason":"renew"}\n\n`);
  });
  await new Promise((done) => { between.listen(0, '127.0.0.1', done); });
  try {
    const page = await open();
    await page.addInitScript(() => new MutationObserver(() => { window.lost ||= document.body.textContent.includes('connection lost'); }).observe(document, { subtree: true, childList: true, characterData: true }));
    await page.goto(`http://127.0.0.1:${between.address().port}/settings`);
    await page.getByText('live', { exact: true }).waitFor();
    await eventually(() => ids.slice(0, 3), ['', '42', '43']);
    assert.equal(await page.evaluate(() => window.lost), false, 'an end that was announced is no loss');
    await page.close();
  } finally {
    between.close();
    between.closeAllConnections();
  }
});

test('live values that do not arrive are not called a server that does not answer', async () => {
  const page = await open();
  await page.route('**/v1/live', (route) => route.fulfill({ status: 503, json: { detail: 'too many streams' } }));
  await page.goto(`${URL_BASE}/settings`);
  await page.getByRole('alert').getByText('Live values do not arrive').waitFor();
  assert.equal(await page.getByText('The server does not answer').count(), 0);
});
