// Lists: search, sort, cursor paging, keyboard, cards on phones.
import { html, useEffect, useMemo, useRef } from './view.js';
import { Link, navigate, useQuery } from './router.js';
import { Empty, ErrorBox, Skeleton, Icon } from './ui.js';
import { count, number } from './format.js';

const textOf = (row) => JSON.stringify(row).toLowerCase();
const compare = (a, b) => {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return typeof a === 'string' ? a.localeCompare(b, 'en', { numeric: true }) : a - b;
};

/** Rows that match the search and are sorted; both are in the address as `<id>.q` and `<id>.sort`. */
function useRows({ id, items, columns, initialSort, searchText, serverSearch }) {
  const [q, setQ] = useQuery(`${id}.q`);
  const [sort, setSort] = useQuery(`${id}.sort`, initialSort);
  const rows = useMemo(() => {
    let all = items ?? [];
    if (q && !serverSearch) all = all.filter((row) => (searchText ?? textOf)(row).toLowerCase().includes(q.toLowerCase()));
    const down = sort.startsWith('-');
    const column = columns.find((one) => one.key === sort.replace(/^-/, ''));
    if (column?.sort) {
      all = [...all].sort((a, b) => {
        const [x, y] = [column.sort(a), column.sort(b)];
        const hasBoth = x !== null && x !== undefined && y !== null && y !== undefined;
        return down && hasBoth ? -compare(x, y) : compare(x, y);
      });
    }
    return all;
  }, [items, q, sort, columns]);
  return { rows, q, setQ, sort, setSort };
}

function moveFocus(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step && event.key !== 'Home' && event.key !== 'End') return;
  const rows = [...event.currentTarget.querySelectorAll('tr[data-row]')];
  const at = rows.indexOf(event.target.closest('tr[data-row]'));
  if (at < 0 || event.target.matches('input, select, textarea')) return;
  event.preventDefault();
  const to = event.key === 'Home' ? 0 : event.key === 'End' ? rows.length - 1 : Math.max(0, Math.min(rows.length - 1, at + step));
  (rows[to].querySelector('a[data-open]') ?? rows[to]).focus();
}

/** The arrow leads from the search box into the list. */
function enter(event) {
  const row = event.key === 'ArrowDown' && event.target.closest('.table-wrap')?.querySelector('a[data-open], tr[data-row][tabindex]');
  if (row) { event.preventDefault(); row.focus(); }
}

function Head({ columns, sort, setSort }) {
  return html`<thead><tr role="row">${columns.map((column) => {
    const isOn = sort.replace(/^-/, '') === column.key;
    const order = isOn ? (sort.startsWith('-') ? 'descending' : 'ascending') : undefined;
    const flip = () => {
      const first = column.align === 'right' ? `-${column.key}` : column.key;
      if (!isOn) setSort(first);
      else setSort(sort.startsWith('-') ? column.key : `-${column.key}`);
    };
    return html`<th scope="col" role="columnheader" class=${column.align ?? ''} aria-sort=${order}>
      ${column.sort ? html`<button type="button" class="sort" onClick=${flip}>${column.label}<span aria-hidden="true">${order === 'ascending' ? '↑' : order ? '↓' : ''}</span></button>`
        : column.label || html`<span class="visually-hidden">${column.name ?? 'Actions'}</span>`}
    </th>`;
  })}</tr></thead>`;
}

function Row({ row, columns, href, onOpen }) {
  const to = href?.(row);
  const onClick = (event) => {
    if (event.target.closest('a, button, input, select, label') || String(getSelection())) return;
    if (to && (event.ctrlKey || event.metaKey)) window.open(to);
    else if (to) navigate(to); else onOpen?.(row);
  };
  const onKey = (event) => { if (event.key === 'Enter' && onOpen && event.target === event.currentTarget) onOpen(row); };
  return html`<tr role="row" data-row tabindex=${to ? undefined : 0} class=${to || onOpen ? 'opens' : ''} onClick=${to || onOpen ? onClick : undefined} onKeyDown=${onKey}>
    ${columns.map((column, i) => html`<td role="cell" class=${`${column.align ?? ''} ${column.phone === false ? 'no-phone' : ''}`} data-label=${column.label}>
      <div class="td">${i === 0 && to ? html`<${Link} href=${to} data-open>${column.render(row)}<//>` : column.render(row)}</div></td>`)}
  </tr>`;
}

/**
 * A list. Rows come from `items` (an array) or `list` (from useList).
 *   id           prefix of its parameters in the address
 *   label        what it lists, in the plural, for screen readers, the search box (unless `hint` says it) and the count
 *   columns      [{ key, label, render(row), sort?(row), align?: 'right', phone?: false }]; the first one names the row
 *   href(row)    where a row leads; or onOpen(row)
 *   empty        { title, text, command, action } when there is nothing at all
 *   of           how many are loaded, when `items` are only those that a filter selects
 *   whole        how many pages may be loaded so that search and order are of all rows, not of those that happen to be here
 *   filters      nodes beside the search box; search=false hides the box, foot=false the count
 */
export function DataTable({
  id, label, columns, items, list, href, onOpen, empty = {}, filters, search = true, sort: initialSort = '',
  searchText, rowKey = (row) => row.id, skeletonRows = 6, serverSearch, actions, foot = true, hint, of, whole = 0,
}) {
  const source = list ?? { items, loading: items === undefined, error: null };
  const { rows, q, setQ, sort, setSort } = useRows({ id, items: source.items, columns, initialSort, searchText, serverSearch });
  const box = useRef(null);
  const isPart = source.hasMore && source.pages < whole && !source.loading && !source.error;
  useEffect(() => { if (isPart) source.more(whole - source.pages); }, [isPart]);
  const loaded = of ?? source.items?.length;
  // Nothing of what is loaded is not nothing: the rest can be loaded.
  const isEmpty = source.items?.length === 0 && !q && !source.hasMore;
  const scope = source.hasMore && !serverSearch ? 'loaded ' : '';
  if (source.error && !source.items) return html`<${ErrorBox} error=${source.error} retry=${source.reload} />`;
  const bar = (search || filters || actions) && !(isEmpty && !filters) && html`<div class="table-bar">
    ${search && html`<label class="search"><${Icon} name="search" /><span class="visually-hidden">${hint ?? `Search ${label}`}</span>
      <input ref=${box} data-search type="search" placeholder=${hint ?? `Search ${scope}${label}`} value=${q} onInput=${(event) => setQ(event.target.value)} onKeyDown=${enter} /></label>`}
    ${filters}<span class="grow"></span>${actions}
  </div>`;
  if (isEmpty) return html`${bar}<${Empty} title=${empty.title ?? `No ${label} yet`} ...${empty} />`;
  return html`<div class="table-wrap" aria-busy=${source.loading ? 'true' : 'false'}>
    ${bar}
    <div class="table-scroll"><table role="table" aria-label=${label}>
      <${Head} columns=${columns} sort=${sort} setSort=${setSort} />
      <tbody onKeyDown=${moveFocus}>
        ${source.items ? rows.map((row, i) => html`<${Row} key=${rowKey(row, i)} row=${row} columns=${columns} href=${href} onOpen=${onOpen} />`)
          : Array.from({ length: skeletonRows }, () => html`<tr role="row" class="loading">${columns.map((column) => html`<td role="cell" class=${column.align ?? ''}><${Skeleton} width="60%" /></td>`)}</tr>`)}
      </tbody>
    </table></div>
    ${source.items && rows.length === 0 && html`<div class="empty small"><p>${source.hasMore ? `None of the ${number(loaded)} loaded ${label}` : `None of the ${label}`} ${q ? `matches “${q}”` : 'is of this kind'}.</p>
      ${q && html`<button type="button" onClick=${() => setQ('')}>Clear the search</button>`}</div>`}
    ${source.error && html`<${ErrorBox} error=${source.error} retry=${source.reload} />`}
    ${foot && source.items && html`<footer class="table-foot"><span class="muted">${rows.length === loaded ? count(rows.length, label) : `${number(rows.length)} of ${count(loaded, label)}`}${source.hasMore ? ` loaded${serverSearch ? '' : '; search and order are of these'}` : ''}</span>
      ${source.hasMore && html`<button type="button" onClick=${() => source.more()} disabled=${source.loading}>Load more</button>`}</footer>`}
  </div>`;
}
