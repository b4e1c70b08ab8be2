// Grafana publishes no component for heat maps and state timelines: these stand in for them.
import { getValueFormat, formattedValueToString, getDisplayProcessor, dateTimeFormat } from '@grafana/data';

const LEFT = 64, BOTTOM = 22;

/** The axis of time below a picture. */
function Times({ from, to, left, width, height }) {
  const candidates = [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400];
  const step = candidates.find(one => ((to - from) / one) * 60 < width) ?? 86400;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to - ((to - from) / width) * 16; at += step) ticks.push(at);
  const x = at => left + ((at - from) / (to - from)) * width;
  return ticks.map(at => (
    <text key={at} x={x(at)} y={height - 6} fill="#ccccdc" fontSize="12" textAnchor="middle">
      {dateTimeFormat(at * 1000, { format: step < 60 ? 'HH:mm:ss' : 'HH:mm', timeZone: 'utc' })}
    </text>
  ));
}

const ORANGES = [[255, 245, 235], [253, 174, 107], [241, 105, 19], [166, 54, 3], [127, 39, 4]];

/** A colour between dark (few) and light (many), as Grafana maps a scheme in its dark theme. */
function shade(share) {
  const place = (1 - share) * (ORANGES.length - 1), low = Math.min(Math.floor(place), ORANGES.length - 2);
  const mix = ORANGES[low].map((part, i) => Math.round(part + (ORANGES[low + 1][i] - part) * (place - low)));
  return `rgb(${mix.join(',')})`;
}

/** Counts of a cumulated histogram over time, a cell for each step and bucket. */
export function Heatmap({ series, panel, from, to, width, height }) {
  const bound = frame => (frame.name === '+Inf' ? Infinity : Number(frame.name));
  const sorted = [...series].sort((a, b) => bound(a) - bound(b));
  const counts = sorted.map((frame, place) =>
    frame.fields[1].values.map((value, at) => (value ?? 0) - (place ? sorted[place - 1].fields[1].values[at] ?? 0 : 0)));
  const used = counts.map(row => row.some(value => value > 1e-9));
  const first = Math.max(0, used.indexOf(true) - 1), last = Math.min(sorted.length - 1, used.lastIndexOf(true) + 1);
  const most = Math.max(...counts.flat());
  const rows = last - first + 1, tall = (height - BOTTOM - 6) / rows, wide = width - LEFT - 8;
  const unit = getValueFormat(panel.options.yAxis.unit);
  const times = sorted[0].fields[0].values.map(at => at / 1000);
  const step = times[1] - times[0];
  const x = at => LEFT + ((at - from) / (to - from)) * wide;
  const y = place => 6 + (last - place) * tall;
  const cells = [];
  for (let place = first; place <= last; place++) {
    counts[place].forEach((value, at) => {
      if (value <= 1e-9 || times[at] < from) return;
      const share = Math.pow(value / most, 0.5);
      cells.push(<rect key={`${place} ${at}`} x={x(times[at])} y={y(place)} width={Math.max(1, x(times[at] + step) - x(times[at]) - 0.5)} height={tall - 1} fill={shade(share)} />);
    });
  }
  const bounds = sorted.slice(first, last + 1).map(bound);
  return (
    <svg width={width} height={height}>
      {bounds.map((value, place) => rows > 12 && place % 2 ? null : (
        <text key={value} x={LEFT - 8} y={y(first + place) + 4} fill="#ccccdc" fontSize="12" textAnchor="end">
          {value === Infinity ? '+Inf' : formattedValueToString(unit(value))}
        </text>
      ))}
      {cells}
      <Times from={from} to={to} left={LEFT} width={wide} height={height} />
    </svg>
  );
}

const hidden = colour => colour === 'transparent' || /^rgba\(.*, ?0\)$/.test(colour) || /^#\w{6}00$/.test(colour);

/** A bar for each series, coloured by what holds from when to when. */
export function States({ series, theme, from, to, width, height }) {
  const left = Math.min(width * 0.35, 12 + 6.6 * Math.max(...series.map(frame => frame.name.length)));
  const wide = width - left - 8, legend = 20;
  const tall = (height - BOTTOM - legend - 4) / series.length;
  const x = at => left + ((at - from) / (to - from)) * wide;
  const words = new Map();
  const bars = series.flatMap((frame, place) => {
    const [time, field] = frame.fields;
    const display = getDisplayProcessor({ field, theme });
    const step = (time.values[1] - time.values[0]) / 1000;
    const merged = [];
    field.values.forEach((value, at) => {
      if (value === null) return;
      const { text, color } = display(value), start = Math.max(from, time.values[at] / 1000), end = Math.min(to, start + step);
      const last = merged.at(-1);
      if (last && last.text === text && start - last.end < 1) last.end = end;
      else merged.push({ text, color, start, end });
    });
    const seen = merged.filter(one => !hidden(one.color));
    seen.forEach(one => words.set(one.text, one.color));
    return seen.map(one => (
      <rect key={`${place} ${one.start}`} x={x(one.start)} y={4 + place * tall + tall * 0.1} width={Math.max(1, x(one.end) - x(one.start))} height={tall * 0.8} fill={one.color} fillOpacity="0.8" />));
  });
  return (
    <svg width={width} height={height}>
      {series.map((frame, place) => (
        <text key={place} x={left - 8} y={4 + (place + 0.5) * tall + 4} fill="#ccccdc" fontSize="12" textAnchor="end">
          {6.6 * frame.name.length > left ? `${frame.name.slice(0, Math.floor(left / 6.8) - 2)}…` : frame.name}
        </text>
      ))}
      {bars}
      <Times from={from} to={to} left={left} width={wide} height={height - legend} />
      {[...words].map(([text, colour], place) => (
        <g key={text} transform={`translate(${12 + place * 110}, ${height - 10})`}>
          <rect width="14" height="4" y="-3" rx="2" fill={colour} />
          <text x="20" y="3" fill="#ccccdc" fontSize="12">{text}</text>
        </g>
      ))}
    </svg>
  );
}
