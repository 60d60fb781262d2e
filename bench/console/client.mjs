// Requests with the admin key, many at once on connections that are kept.
import http from 'node:http';
import { KEY } from './server.mjs';

export class Client {
  constructor(url, connections) {
    this.url = url;
    this.connections = connections;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  }

  get(path) { return this.send('GET', path); }
  put(path, body) { return this.send('PUT', path, body); }
  post(path, body) { return this.send('POST', path, body); }

  send(method, path, body) {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = { 'x-api-key': KEY, ...(text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }) };
    return new Promise((resolve, reject) => {
      const request = http.request(this.url + path, { method, headers, agent: this.agent }, (response) => {
        let received = '';
        response.setEncoding('utf8').on('data', (part) => { received += part; }).on('end', () => {
          if (response.statusCode >= 300) reject(Object.assign(new Error(`${method} ${path}: ${response.statusCode} ${received}`), { status: response.statusCode }));
          else resolve(received ? JSON.parse(received) : null);
        });
        response.on('error', reject);
      });
      request.on('error', reject).end(text);
    });
  }

  /** Calls `send(i)` for each number below `count`, as many at once as there are connections, and shows how far it is. */
  async each(what, count, send) {
    const progress = new Progress(what, count);
    let next = 0;
    const worker = async () => {
      while (next < count) {
        const at = next;
        next += 1;
        await send(at);
        progress.step();
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.connections, count) }, worker));
    progress.end();
  }

  close() { this.agent.destroy(); }
}

/** One line that counts; where the output is no terminal, a line at the end. */
class Progress {
  constructor(what, count) {
    Object.assign(this, { what, count, done: 0, started: Date.now(), shown: 0 });
  }

  step() {
    this.done += 1;
    const now = Date.now();
    if (!process.stderr.isTTY || now - this.shown < 200) return;
    this.shown = now;
    process.stderr.write(`\r${this.text()}\x1b[K`);
  }

  end() { process.stderr.write(`${process.stderr.isTTY ? '\r\x1b[K' : ''}${this.text()}\n`); }

  text() {
    const secs = (Date.now() - this.started) / 1000;
    const rate = Math.round(this.done / Math.max(secs, 0.001));
    const number = (value) => value.toLocaleString('en-US').replaceAll(',', ' ');
    return `  ${this.what}: ${number(this.done)} of ${number(this.count)}, ${number(rate)}/s, ${secs.toFixed(0)} s`;
  }
}
