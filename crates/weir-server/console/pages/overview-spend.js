// Spend of the last 14 days, stacked by org.
import { html, useMemo } from '../app/view.js';
import { Chart } from '../app/chart.js';
import { Card } from '../app/ui.js';
import { addDays, axisMoney, dayName, money, number } from '../app/format.js';

const SHOWN = 7;
const dayAt = (date) => Date.parse(`${date}T00:00:00Z`) / 1000;

export function SpendByOrg({ orgs, total }) {
  const { x, series } = useMemo(() => {
    if (!orgs) return { series: [] };
    const size = orgs[0]?.last_14_days.length ?? 0;
    const biggest = [...orgs].map((org) => ({ org, sum: org.last_14_days.reduce((a, b) => a + b, 0) }))
      .filter(({ sum }) => sum > 0).sort((a, b) => b.sum - a.sum);
    const rest = biggest.slice(SHOWN);
    // Orgs of different zones meet by day: the last entry is each org's own today.
    const days = Array.from({ length: size }, (_, i) => dayAt(addDays(orgs[0].day, i - size + 1)));
    const all = biggest.slice(0, SHOWN).map(({ org }, i) => ({
      label: org.org_name, kind: 'bar', color: `series-${i + 1}`, stacked: true, values: org.last_14_days,
    }));
    if (rest.length) {
      const values = days.map((_, i) => rest.reduce((sum, { org }) => sum + org.last_14_days[i], 0));
      all.push({ label: `${rest.length} more`, kind: 'bar', color: 'series-8', stacked: true, values });
    }
    return { x: biggest.length ? days : [], series: all };
  }, [orgs]);
  return html`<${Card} class="grow" title="Spend of 14 days" sub=${orgs?.length && total > orgs.length ? `The ${orgs.length} fullest budgets of ${number(total)}` : 'By org; the last day is today so far'}>
    <${Chart} label="Spend of 14 days by org" x=${x} series=${series} format=${axisMoney} exact=${money} unit="a day" zone="UTC" height=${288}
      xFormat=${(at) => dayName(at * 1000, 'UTC')} xLabel="Day" empty="No spend in the last 14 days" />
  <//>`;
}
