// What a person can do with a job: put it back, or stop it.
import { act } from '../app/dialog.js';
import { weir } from '../app/command.js';

const ask = (job, verb, rest) => act({
  ...rest, request: { method: 'POST', path: `/v1/practice/jobs/${job.type}/${encodeURIComponent(job.id)}/${verb}` }, command: weir('practice', 'jobs', verb, job.type, job.id),
});

export const retry = (job) => ask(job, 'retry', {
  title: 'Put this job back into the queue?', button: 'Retry', done: 'The job waits for a worker again',
  text: 'The next worker that asks for a job of this type gets it. Its progress stays, and attempts count from zero.',
});
export const cancel = (job) => ask(job, 'cancel', {
  title: 'Cancel this job?', danger: true, button: 'Cancel the job', done: 'The job was cancelled',
  text: 'No worker gets it any more, and a worker that has it loses it with its next message. A cancelled job cannot be put back.',
});
