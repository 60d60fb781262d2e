// The view library: preact with htm templates. Text in `${}` is always inserted as text.
import { h, render, Fragment, createContext } from '../vendor/preact.js';
import htm from '../vendor/htm.js';

export const html = htm.bind(h);
export { h, render, Fragment, createContext };
export {
  useState, useEffect, useLayoutEffect, useMemo, useRef, useCallback, useContext, useId, useErrorBoundary,
} from '../vendor/preact-hooks.js';
