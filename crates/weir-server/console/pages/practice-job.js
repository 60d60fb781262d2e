// One job: what it is about, and its steps as they come.
import { useState, useEffect, html } from '../app/view.js';
import { part } from '../app/router.js';
import { useApi } from '../app/data.js';
import { ended } from '../app/api.js';
import { Button, Card, PageHead, Facts, Time, Status, Empty } from '../app/ui.js';
import { Commands, weir } from '../app/command.js';
import { number } from '../app/format.js';
import { JobStatus, isOpen, TYPES, retry, cancel } from './practice-data.js';
import { titleOf } from './practice-jobs.js';
import { Loaded, LongText, Name } from './shared.js';

/** { steps, status: 'connecting' | 'live' | 'lost' | 'ended' }; `onEnd` is called when the job has ended. */
export function useProgress(path, onEnd) {
  const [state, setState] = useState({ steps: new Map(), status: 'connecting' });
  useEffect(() => {
    let source = null;
    let hasEnded = false;
    let again = null;
    const set = (change) => setState((old) => ({ ...old, ...change }));
    const close = () => { clearTimeout(again); source?.close(); source = null; };
    const open = () => {
      if (source || document.hidden || hasEnded || ended.get()) return;
      source = new EventSource(path);
      source.addEventListener('open', () => set({ status: 'live' }));
      source.addEventListener('progress', (event) => {
        const step = JSON.parse(event.data);
        setState((old) => ({ status: 'live', steps: new Map(old.steps).set(step.id, step) }));
      });
      source.addEventListener('end', () => { hasEnded = true; close(); set({ status: 'ended' }); onEnd(); });
      source.addEventListener('error', () => {
        set({ status: 'lost' });
        if (source?.readyState === EventSource.CLOSED) { close(); again = setTimeout(open, 3000); }
      });
    };
    const onVisible = () => (document.hidden ? close() : open());
    document.addEventListener('visibilitychange', onVisible);
    // A session that ended is not asked with; the stream goes on when the person has signed in again.
    const unsubscribe = ended.subscribe((isOver) => (isOver ? close() : open()));
    setState({ steps: new Map(), status: 'connecting' });
    open();
    return () => { document.removeEventListener('visibilitychange', onVisible); unsubscribe(); close(); };
  }, [path]);
  return { status: state.status, steps: [...state.steps.values()] };
}

const STEPS = { started: 'info', in_progress: 'info', completed: 'good', failed: 'bad' };
const STREAM = { connecting: ['idle', 'connecting'], live: ['good', 'following'], lost: ['bad', 'connection lost, trying again'], ended: ['idle', 'ended'] };

function Progress({ type, id, job, onEnd }) {
  const path = `/v1/practice/jobs/${type}/${part(id)}/progress`;
  const { steps, status } = useProgress(path, onEnd);
  const [kind, word] = STREAM[status];
  return html`<${Card} title="Progress" actions=${html`<${Status} kind=${kind}>${word}<//>`}>
    ${steps.length === 0 && html`<${Empty} title=${job?.status === 'PENDING' ? 'The job waits for a worker' : 'No step was reported'} command=${job?.status === 'PENDING' ? weir('practice', 'jobs', 'claim', type, '--worker', 'host-1') : undefined} />`}
    <ol class="steps" aria-live="polite">${steps.map((step) => html`<li key=${step.id}>
      <${Status} kind=${STEPS[step.status]}>${step.status.replace('_', ' ')}<//><b><bdi>${step.step}</bdi></b>
      <span class="step-text"><${LongText} text=${step.message} shown=${400} /></span><${Time} at=${step.at} /></li>`)}</ol>
    <${Commands} command=${weir('practice', 'jobs', 'watch', type, id)} request=${{ path }} /><//>`;
}

/** A link to the page of a problem; other schemes than http and https stay text. */
const Url = ({ url }) => (/^https?:\/\//i.test(url) ? html`<a href=${url} rel="noreferrer noopener" target="_blank">${url}</a>` : html`<bdi>${url}</bdi>`);

function About({ job }) {
  return html`<${Card} title="Job"><${Facts} items=${[
    ['State', html`<${JobStatus} status=${job.status} />`],
    ['Attempts', number(job.attempts)],
    job.platform && ['Problem', html`<bdi>${job.platform}/${job.problem_id}</bdi>`],
    job.problem_url && ['Page', html`<${Url} url=${job.problem_url} />`],
    job.language && ['Language', html`<bdi>${job.language}</bdi>`],
    job.tags.length > 0 && ['Tags', html`<span class="chips">${job.tags.map((tag) => html`<span class="tag" key=${tag}>${tag}</span>`)}</span>`],
    job.lease && ['Worker', html`<bdi>${job.lease.worker_id}</bdi>, lease ends <${Time} at=${job.lease.expires_at} />`],
    ['Submitted', html`<${Time} at=${job.created_at} />`],
    ['Changed', html`<${Time} at=${job.updated_at} />`],
  ]} />
  ${job.error_message && html`<div class="error-box"><div><strong>The job failed</strong><${LongText} text=${job.error_message} /></div></div>`}<//>`;
}

const Text = ({ title, text }) => text && html`<${Card} title=${title}><pre class="raw"><${LongText} text=${text} shown=${4000} /></pre><//>`;

export function Job({ type, id }) {
  const source = useApi(`/v1/practice/jobs/${type}/${part(id)}`);
  const [round, setRound] = useState(0);
  const job = source.data;
  const then = async (asked) => { if (await asked !== undefined) { source.reload(); setRound(round + 1); } };
  const actions = job && html`${job.status === 'FAILED' && html`<${Button} needs="practice" class="primary" onClick=${() => then(retry(job))}>Retry…<//>`}
    ${isOpen(job) && html`<${Button} needs="practice" onClick=${() => then(cancel(job))}>Cancel…<//>`}`;
  const name = TYPES.find(([key]) => key === type)?.[1] ?? type;
  return html`<${PageHead} title=${job ? html`<${Name} text=${titleOf(job)} max=${200} />` : id} sub=${html`${name} <code>${id}</code>`} crumbs=${[['Practice', '/practice'], ['Jobs', `/practice/jobs?type=${encodeURIComponent(type)}`]]} actions=${actions} />
    <${Loaded} source=${source}>${(data) => html`<${About} job=${data} />
      <${Progress} key=${round} type=${type} id=${id} job=${data} onEnd=${source.reload} />
      <${Text} title="Constraints" text=${data.constraints} /><${Text} title="Solution" text=${data.solution_code} /><${Text} title="Generated script" text=${data.generator_code} />`}<//>`;
}
