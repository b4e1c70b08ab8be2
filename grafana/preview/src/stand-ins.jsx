// Grafana publishes no component for heat maps and state timelines, but what both are made of: plot, axes and legend. Only
// the cells and bars are drawn here.
import { useMemo } from 'react';
import { formattedValueToString, getDisplayProcessor, getValueFormat } from '@grafana/data';
import { AxisPlacement, GraphDrawStyle, LegendDisplayMode, ScaleDirection, ScaleOrientation } from '@grafana/schema';
import { measureText, UPLOT_AXIS_FONT_SIZE, UPlotChart, UPlotConfigBuilder, VizLegend } from '@grafana/ui';
import { shadeMarks } from './marks';

/** A plot over time whose other axis has a line for each name; `draw` gets a function for the pixels of a time and a line. */
function plot({ context, theme, marks }, names, at, draw) {
  const builder = new UPlotConfigBuilder('utc');
  const across = { scaleKey: 'x', isTime: true, orientation: ScaleOrientation.Horizontal, direction: ScaleDirection.Right };
  builder.addScale({ ...across, range: () => [context.from * 1000, context.to * 1000] });
  builder.addAxis({ scaleKey: 'x', isTime: true, placement: AxisPlacement.Bottom, timeZone: 'utc', theme });
  builder.addScale({ scaleKey: 'y', orientation: ScaleOrientation.Vertical, direction: ScaleDirection.Up, range: () => [0, at.end] });
  const values = (_, splits) => splits.map(split => names[at.splits.indexOf(split)] ?? '');
  builder.addAxis({ scaleKey: 'y', placement: AxisPlacement.Left, theme, splits: () => at.splits, values, size: at.size, grid: { show: false } });
  builder.addSeries({ scaleKey: 'y', theme, drawStyle: GraphDrawStyle.Line, lineWidth: 0, show: true, pxAlign: true });
  if (marks) shadeMarks(builder, context.marks, theme);
  builder.addHook('draw', drawn => {
    const { ctx, bbox } = drawn;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    draw(ctx, (from, to, low, high) => {
      const [left, right] = [from, to].map(time => drawn.valToPos(time, 'x', true));
      const [bottom, top] = [low, high].map(line => drawn.valToPos(line, 'y', true));
      return [left, top, Math.max(1, right - left), bottom - top];
    });
    ctx.restore();
  });
  return builder;
}

const nothing = times => [times, times.map(() => null)];

const ORANGES = [[255, 245, 235], [253, 174, 107], [241, 105, 19], [166, 54, 3], [127, 39, 4]];

/** A colour between dark (few) and light (many), as Grafana maps a scheme in its dark theme. */
function shade(share) {
  const place = (1 - share) * (ORANGES.length - 1), low = Math.min(Math.floor(place), ORANGES.length - 2);
  const mix = ORANGES[low].map((part, i) => Math.round(part + (ORANGES[low + 1][i] - part) * (place - low)));
  return `rgb(${mix.join(',')})`;
}

/** Counts of a cumulated histogram over time, a cell for each step and bucket. */
export function Heatmap({ series, panel, context, theme, width, height }) {
  const times = series[0].fields[0].values;
  const config = useMemo(() => {
    const bound = frame => (frame.name === '+Inf' ? Infinity : Number(frame.name));
    const sorted = [...series].sort((a, b) => bound(a) - bound(b));
    const below = (place, at) => (place ? sorted[place - 1].fields[1].values[at] ?? 0 : 0);
    const counts = sorted.map((frame, place) => frame.fields[1].values.map((value, at) => (value ?? 0) - below(place, at)));
    const used = counts.map(row => row.some(value => value > 1e-9));
    const first = Math.max(0, used.indexOf(true) - 1), last = Math.min(sorted.length - 1, used.lastIndexOf(true) + 1);
    const most = Math.max(...counts.flat()), unit = getValueFormat(panel.options.yAxis.unit);
    const bounds = sorted.slice(first, last + 1).map(bound);
    const names = bounds.map(value => (value === Infinity ? '+Inf' : formattedValueToString(unit(value))));
    const at = { end: bounds.length, splits: bounds.map((_, place) => place + 1) };
    return plot({ context, theme, marks: false }, names, at, (ctx, pixels) => {
      const step = times[1] - times[0];
      for (let place = first; place <= last; place++) {
        counts[place].forEach((value, at) => {
          if (value <= 1e-9) return;
          ctx.fillStyle = shade(Math.pow(value / most, panel.options.color.exponent));
          const [x, y, wide, tall] = pixels(times[at], times[at] + step, place - first, place - first + 1);
          ctx.fillRect(x, y, Math.max(1, wide - panel.options.cellGap), tall - panel.options.cellGap);
        });
      }
    });
  }, [series]);
  return <UPlotChart config={config} data={nothing(times)} width={width} height={height} />;
}

const hidden = colour => colour === 'transparent' || /^rgba\(.*, ?0\)$/.test(colour) || /^#\w{6}00$/.test(colour);

/** What a series shows from when to when; what follows and shows the same is one. */
function spans(frame, theme) {
  const [{ values: times }, field] = frame.fields;
  const display = getDisplayProcessor({ field, theme }), step = times[1] - times[0];
  const merged = [];
  field.values.forEach((value, at) => {
    if (value === null) return;
    const { text, color } = display(value), last = merged.at(-1);
    if (last?.text === text && times[at] - last.to < 1) last.to += step;
    else merged.push({ text, color, from: times[at], to: times[at] + step });
  });
  return merged.filter(one => !hidden(one.color));
}

const LEGEND = 30;

/** A bar for each series, coloured by what holds from when to when. */
export function States({ series, panel, context, theme, width, height }) {
  const rows = useMemo(() => [...series].reverse().map(frame => spans(frame, theme)), [series]);
  const config = useMemo(() => {
    const names = [...series].reverse().map(frame => frame.name);
    const size = 16 + Math.max(...names.map(name => measureText(name, UPLOT_AXIS_FONT_SIZE).width));
    const at = { end: names.length, splits: names.map((_, place) => place + 0.5), size };
    const margin = (1 - panel.options.rowHeight) / 2;
    return plot({ context, theme, marks: true }, names, at, (ctx, pixels) => {
      rows.forEach((row, place) => row.forEach(one => {
        ctx.globalAlpha = panel.fieldConfig.defaults.custom.fillOpacity / 100;
        ctx.fillStyle = one.color;
        ctx.fillRect(...pixels(one.from, one.to, place + margin, place + 1 - margin));
      }));
    });
  }, [rows]);
  const words = [...new Map(rows.flat().map(one => [one.text, one.color]))];
  return (
    <>
      <UPlotChart config={config} data={nothing(series[0].fields[0].values)} width={width} height={height - LEGEND} />
      <VizLegend displayMode={LegendDisplayMode.List} placement="bottom" items={words.map(([label, color]) => ({ label, color, yAxis: 1 }))} />
    </>
  );
}
