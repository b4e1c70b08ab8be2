// What Grafana's Prometheus data source does with a query: variables, step, frames.
import { createDataFrame, FieldType } from '@grafana/data';

const number = text => (text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text));

/** Writes the values of variables into a text. `extra` are those of one query. */
export function interpolate(text, variables, extra = {}) {
  const values = { ...variables, ...extra };
  return text.replace(/\$\{(\w+)(?::\w+)?\}|\$(\w+)/g, (whole, braced, plain) => values[braced ?? plain] ?? whole);
}

const seconds = text => ({ s: 1, m: 60, h: 3600, d: 86400 })[text.slice(-1)] * Number(text.slice(0, -1));

export async function ask(path, parameters) {
  const answer = await (await fetch(`/prometheus/api/v1/${path}?${new URLSearchParams(parameters)}`)).json();
  if (answer.status !== 'success') throw new Error(answer.error);
  return answer.data;
}

/** Step and the variables that depend on it, as Grafana computes them for a graph of this width. */
export function steps(target, context, width) {
  const { from, to, scrape } = context;
  const nice = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400];
  const least = target?.interval ? Math.min(seconds(target.interval), scrape * 3) : scrape;
  const step = Math.max(least, nice.find(one => one >= (to - from) / width) ?? 86400);
  const rate = Math.max(step + scrape, 4 * scrape);
  return {
    step,
    extra: { __interval: `${step}s`, __rate_interval: `${rate}s`, __range: `${Math.round(to - from)}s` },
  };
}

/** The frames of one query of a panel. */
export async function frames(target, context, width, several) {
  const { step, extra } = steps(target, context, width);
  const expr = interpolate(target.expr, context.variables, extra);
  const from = Math.floor(context.from / step) * step;
  const data = target.instant
    ? await ask('query', { query: expr, time: context.to })
    : await ask('query_range', { query: expr, start: from, end: context.to, step });
  const values = one => one.values ?? [one.value];
  if (target.format === 'table') return [table(target, data.result, several)];
  return data.result.map(one => {
    const { __name__, ...labels } = one.metric;
    const name = (target.legendFormat ?? '').replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => labels[label] ?? '');
    const points = target.instant ? values(one) : filled(values(one), from, context.to, step);
    return createDataFrame({
      refId: target.refId,
      name,
      fields: [
        { name: 'Time', type: FieldType.time, values: points.map(([at]) => at * 1000), config: { interval: step * 1000 } },
        { name: 'Value', type: FieldType.number, labels, values: points.map(([, value]) => (value === null ? null : number(value))), config: { displayNameFromDS: name } },
      ],
    });
  });
}

/** A gap is a gap, not a line across it. */
function filled(points, from, to, step) {
  const known = new Map(points.map(([at, value]) => [Math.round(at), value]));
  const all = [];
  for (let at = from; at <= to; at += step) all.push([at, known.get(Math.round(at)) ?? null]);
  return all;
}

function table(target, result, several) {
  const labels = [...new Set(result.flatMap(one => Object.keys(one.metric)))].filter(name => name !== '__name__').sort();
  return createDataFrame({
    refId: target.refId,
    fields: [
      { name: 'Time', type: FieldType.time, values: result.map(one => one.value[0] * 1000) },
      ...labels.map(name => ({ name, type: FieldType.string, values: result.map(one => one.metric[name] ?? '') })),
      { name: several ? `Value #${target.refId}` : 'Value', type: FieldType.number, values: result.map(one => number(one.value[1])) },
    ],
  });
}

/** Regions and points of an annotation. */
export async function annotations(of, context) {
  const step = Math.max(context.scrape, Math.ceil((context.to - context.from) / 1000));
  const expr = interpolate(of.target.expr, context.variables, { __interval: `${step}s` });
  const data = await ask('query_range', { query: expr, start: context.from, end: context.to, step });
  const found = [];
  for (const one of data.result) {
    if (of.useValueForTime) {
      for (const value of new Set(one.values.map(([, value]) => Number(value) / 1000))) found.push({ from: value, to: value });
      continue;
    }
    let open = null;
    for (const [at] of one.values) {
      if (open && at - open.to <= step * 1.5) open.to = at;
      else found.push((open = { from: at, to: at }));
    }
  }
  return found.filter(one => one.to >= context.from && one.from <= context.to).map(one => ({ ...one, colour: of.iconColor }));
}
