// The steps of a job as they come. A hidden tab is disconnected; steps that come twice are shown once.
import { useState, useEffect } from '../app/view.js';

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
      if (source || document.hidden || hasEnded) return;
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
    setState({ steps: new Map(), status: 'connecting' });
    open();
    return () => { document.removeEventListener('visibilitychange', onVisible); close(); };
  }, [path]);
  return { status: state.status, steps: [...state.steps.values()] };
}
