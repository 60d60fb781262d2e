// Words and addresses that the pages of practice share, and what a person can do with a job.
import { html } from '../app/view.js';
import { part } from '../app/router.js';
import { Status, Bar } from '../app/ui.js';
import { number } from '../app/format.js';
import { act } from '../app/dialog.js';
import { weir } from '../app/command.js';

export const userHref = (id) => `/practice/users/${part(id)}`;
export const jobHref = (job) => `/practice/jobs/${job.type}/${part(job.id)}`;
export const problemPath = ({ platform, problem_id: id }) => `/v1/practice/problems/${part(platform)}/${part(id)}`;
export const TYPES = [['script-generation', 'Script generation'], ['problem-extraction', 'Problem extraction']];

/** A limit of a plan: -1 is any number. */
export const limitText = (limit) => (limit < 0 ? 'unlimited' : number(limit));

const JOBS = { PENDING: ['idle', 'pending'], PROCESSING: ['info', 'processing'], COMPLETED: ['good', 'completed'], FAILED: ['bad', 'failed'], CANCELLED: ['idle', 'cancelled'] };
export const JobStatus = ({ status }) => html`<${Status} kind=${JOBS[status][0]}>${JOBS[status][1]}<//>`;
export const isOpen = (job) => job.status === 'PENDING' || job.status === 'PROCESSING';

/** What was used of a day's limit. */
export function Against({ usage }) {
  const { action, count, limit } = usage;
  if (limit < 0) return html`<span class="bar-line"><span class="num">${number(count)}</span> <span class="sub">unlimited</span></span>`;
  return html`<div class="against"><${Bar} used=${count} max=${limit} label=${`${action}s used of the day`} text=${`${number(count)} of ${number(limit)}`} /></div>`;
}

const ask = (job, verb, rest) => act({
  ...rest, request: { method: 'POST', path: `/v1/practice/jobs/${job.type}/${part(job.id)}/${verb}` }, command: weir('practice', 'jobs', verb, job.type, job.id),
});

export const retry = (job) => ask(job, 'retry', {
  title: 'Put this job back into the queue?', button: 'Retry', done: 'The job waits for a worker again',
  text: 'The next worker that asks for a job of this type gets it. Its progress stays, and attempts count from zero.',
});
export const cancel = (job) => ask(job, 'cancel', {
  title: 'Cancel this job?', danger: true, button: 'Cancel the job', done: 'The job was cancelled',
  text: 'No worker gets it any more, and a worker that has it loses it with its next message. A cancelled job cannot be put back.',
});
