// A dashboard from its JSON: variables, layout, and what each panel asks of Prometheus.
import { Component, useEffect, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { lastValueFrom } from 'rxjs';
import { createTheme, dateTime, standardTransformers, standardTransformersRegistry, ThemeContext, transformDataFrame } from '@grafana/data';
import { initPluginTranslations } from '@grafana/i18n';
import { GlobalStyles, PanelChrome, PortalContainer } from '@grafana/ui';
import { annotations, ask, frames, interpolate, steps } from './prometheus';
import { Panel } from './panels';

const WIDTH = 1568, COLUMN = WIDTH / 24, ROW = 38, GAP = 8;
const theme = createTheme({ colors: { mode: 'dark' } });
const troubles = (globalThis.troubles = []);
const trouble = (where, error) => troubles.push(`${where}: ${error?.message ?? error}`);
window.addEventListener('error', event => trouble('page', event.message));
window.addEventListener('unhandledrejection', event => trouble('page', event.reason));
standardTransformersRegistry.setInit(() =>
  [...new Map(Object.values(standardTransformers).map(one => [one.id, one])).values()].map(one => (
    { id: one.id, transformation: one, name: one.name, editor: () => null, description: '' })));

class Boundary extends Component {
  state = {};
  static getDerivedStateFromError(error) { return { error }; }
  componentDidCatch(error) { trouble(this.props.of, error.stack); }
  render() { return this.state.error ? <pre>{String(this.state.error)}</pre> : this.props.children; }
}

/** The values of variables: those asked for, else everything. */
function variablesOf(dashboard, given) {
  const values = {};
  for (const one of dashboard.templating.list) {
    if (one.type === 'datasource') continue;
    values[one.name] = given[one.name] ?? (one.type === 'query' ? one.allValue : one.current.value);
  }
  return values;
}

/** What a variable shows in the bar: its values when there are few. */
async function shown(one, context) {
  if (one.type === 'custom') return context.variables[one.name];
  const [, series, label] = /^label_values\((.+), (\w+)\)$/.exec(one.query.query);
  const found = await ask(`label/${label}/values`, { 'match[]': interpolate(series, context.variables), start: context.from, end: context.to });
  if (found.length === 0) trouble(one.name, 'a variable without values');
  const value = context.variables[one.name];
  return value === one.allValue ? 'All' : value;
}

/** JSON knows no infinity: the first step of thresholds begins there. */
function withInfinity(panel) {
  const restore = thresholds => { if (thresholds?.steps) thresholds.steps[0].value = -Infinity; };
  restore(panel.fieldConfig?.defaults.thresholds);
  for (const one of panel.fieldConfig?.overrides ?? []) one.properties.filter(each => each.id === 'thresholds').forEach(each => restore(each.value));
  return panel;
}

async function load(panel, context) {
  const width = (panel.gridPos.w * COLUMN) / 2;
  const several = panel.targets.length > 1;
  let data = (await Promise.all(panel.targets.map(target => frames(target, context, width, several)))).flat();
  if (panel.transformations) data = await lastValueFrom(transformDataFrame(panel.transformations, data));
  return data;
}

function place({ x, y, w, h }) {
  return { position: 'absolute', left: x * COLUMN, top: y * ROW, width: w * COLUMN - GAP, height: h * ROW - GAP };
}

function Cell({ panel, context }) {
  const [data, setData] = useState();
  const replace = text => interpolate(text, context.variables, steps(undefined, context, 800).extra);
  const title = replace(panel.title);
  useEffect(() => {
    if (panel.type === 'row') return;
    load(panel, context).then(setData, error => { trouble(title, error); setData([]); }).finally(() => globalThis.pending--);
  }, []);
  if (panel.type === 'row') return <div style={{ ...place(panel.gridPos), display: 'flex', alignItems: 'center', fontSize: 16, fontWeight: 500 }}>⌄ {panel.title}</div>;
  const { width, height } = place(panel.gridPos);
  const shownPanel = useMemo(() => withInfinity(JSON.parse(JSON.stringify(panel), (_, value) => (typeof value === 'string' && value.includes('$') && !value.includes('__') ? replace(value) : value))), []);
  return (
    <div style={place(panel.gridPos)} data-panel={title}>
      <PanelChrome title={title} description={panel.description} width={width} height={height} padding="md">
        {(inner, tall) => data && <Boundary of={title}><Panel panel={shownPanel} data={data} context={context} width={inner} height={tall} replace={replace} /></Boundary>}
      </PanelChrome>
    </div>
  );
}

function Bar({ dashboard, context, values }) {
  const box = { border: '1px solid rgba(204,204,220,0.2)', borderRadius: 2, padding: '4px 8px', background: '#0b0c0e' };
  const name = { ...box, background: '#181b1f', borderRight: 0 };
  const time = at => dateTime(at * 1000).utc().format('YYYY-MM-DD HH:mm');
  return (
    <>
      <div style={{ display: 'flex', justifyContent: 'space-between', alignItems: 'baseline', margin: '0 8px 8px 0' }}>
        <span style={{ fontSize: 20, fontWeight: 500 }}>{dashboard.title}</span>
        <span style={box}>{time(context.from)} to {time(context.to)} UTC</span>
      </div>
      <div style={{ display: 'flex', flexWrap: 'wrap', gap: 8, marginBottom: 12, fontSize: 12 }}>
        {Object.entries(values).map(([label, value]) => <span key={label} style={{ display: 'flex' }}><span style={name}>{label}</span><span style={box}>{value}</span></span>)}
      </div>
    </>
  );
}

function Dashboard({ dashboard, context, values }) {
  const bottom = Math.max(...dashboard.panels.map(one => one.gridPos.y + one.gridPos.h));
  return (
    <>
      <Bar dashboard={dashboard} context={context} values={values} />
      <div style={{ position: 'relative', width: WIDTH, height: bottom * ROW }}>
        {dashboard.panels.map(panel => <Cell key={panel.id} panel={panel} context={context} />)}
      </div>
    </>
  );
}

async function begin() {
  const given = Object.fromEntries(new URLSearchParams(location.search));
  await initPluginTranslations('grafana', []);
  const dashboard = await (await fetch(`/dashboard/${given.dashboard}`)).json();
  const [from, to, scrape] = [given.from, given.to, given.scrape].map(Number);
  const range = { from: dateTime(from * 1000), to: dateTime(to * 1000) };
  const context = { from, to, scrape, variables: variablesOf(dashboard, given), range: { ...range, raw: range } };
  const asked = dashboard.annotations.list.filter(one => one.target);
  context.marks = (await Promise.all(asked.map(one => annotations(one, context)))).flat();
  const values = {};
  for (const one of dashboard.templating.list) values[one.label] = one.type === 'datasource' ? 'Prometheus' : await shown(one, context);
  globalThis.pending = dashboard.panels.filter(panel => panel.type !== 'row').length;
  createRoot(document.getElementById('root')).render(
    <Boundary of="dashboard"><ThemeContext.Provider value={theme}><GlobalStyles /><PortalContainer /><Dashboard dashboard={dashboard} context={context} values={values} /></ThemeContext.Provider></Boundary>);
}

begin().catch(error => { trouble('dashboard', error.stack); globalThis.pending = 0; });
