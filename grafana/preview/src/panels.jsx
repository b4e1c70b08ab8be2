// A panel of each kind, drawn with the components and the field logic that Grafana publishes.
import { useLayoutEffect, useMemo } from 'react';
import { applyFieldOverrides, getFieldDisplayName, getFieldDisplayValues, Registry, standardFieldConfigEditorRegistry, VizOrientation } from '@grafana/data';
import { BarGauge, BigValue, TimeSeries, useTheme2 } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import { shadeMarks } from './marks';
import { Heatmap, States } from './stand-ins';

const plain = (id, path, isCustom) => ({
  id, path, isCustom, name: id, process: value => value, shouldApply: () => true, settings: {}, editor: () => null, override: () => null,
});
const STANDARD = ['unit', 'min', 'max', 'decimals', 'displayName', 'noValue', 'color', 'thresholds', 'mappings', 'links'];
const CUSTOM = [
  'drawStyle', 'lineInterpolation', 'lineWidth', 'lineStyle', 'fillOpacity', 'gradientMode', 'showPoints', 'pointSize', 'spanNulls', 'stacking',
  'axisPlacement', 'axisLabel', 'axisColorMode', 'axisBorderShow', 'axisCenteredZero', 'axisSoftMin', 'axisSoftMax', 'scaleDistribution',
  'hideFrom', 'thresholdsStyle', 'cellOptions', 'width', 'minWidth', 'align', 'filterable', 'inspect',
];
standardFieldConfigEditorRegistry.setInit(() => STANDARD.map(id => plain(id, id, false)));
const registry = new Registry(() => [
  ...STANDARD.map(id => plain(id, id, false)),
  ...CUSTOM.map(id => plain(`custom.${id}`, id, true)),
]);

/** Gives the fields of frames their configuration, as a dashboard does. */
export function configured(data, panel, theme, replaceVariables) {
  const { defaults, overrides } = panel.fieldConfig;
  const drawn = applyFieldOverrides({
    data, theme, replaceVariables, timeZone: 'utc', fieldConfigRegistry: registry,
    fieldConfig: { overrides, defaults },
  });
  for (const frame of drawn) for (const field of frame.fields) field.state = { ...field.state, displayName: getFieldDisplayName(field, frame, drawn) };
  return drawn;
}

function Marks({ config, marks, theme }) {
  useLayoutEffect(() => shadeMarks(config, marks, theme), [config]);
  return null;
}

function Graph({ panel, data, context, theme, width, height }) {
  const range = useMemo(() => context.range, []);
  return (
    <TimeSeries frames={data} structureRev={1} timeRange={range} timeZone="utc" width={width} height={height} legend={panel.options.legend} options={panel.options}>
      {config => <Marks config={config} marks={context.marks} theme={theme} />}
    </TimeSeries>
  );
}

function values(panel, data, theme, replaceVariables) {
  return getFieldDisplayValues({
    data, theme, replaceVariables, timeZone: 'utc', sparkline: false,
    fieldConfig: panel.fieldConfig, reduceOptions: panel.options.reduceOptions,
  });
}

function Stat({ panel, data, theme, replace, width, height }) {
  const all = values(panel, data, theme, replace);
  return (
    <div style={{ display: 'flex', gap: 8 }}>
      {all.map((one, place) => (
        <BigValue key={place} theme={theme} value={one.display} count={all.length} width={(width - 8 * (all.length - 1)) / all.length} height={height}
          colorMode={panel.options.colorMode} graphMode="none" textMode={panel.options.textMode} justifyMode="auto" />
      ))}
    </div>
  );
}

function Bars({ panel, data, theme, replace, width, height }) {
  const all = values(panel, data, theme, replace);
  const tall = Math.min(64, (height - 8 * (all.length - 1)) / all.length);
  return (
    <div style={{ display: 'flex', flexDirection: 'column', gap: 8, justifyContent: 'center', height }}>
      {all.map((one, place) => (
        <BarGauge key={place} theme={theme} value={one.display} field={one.field} width={width} height={tall} orientation={VizOrientation.Horizontal}
          displayMode={panel.options.displayMode} valueDisplayMode={panel.options.valueMode} namePlacement={panel.options.namePlacement} showUnfilled />
      ))}
    </div>
  );
}

export function Panel({ panel, data, context, width, height, replace }) {
  const theme = useTheme2();
  const drawn = useMemo(() => configured(data, panel, theme, replace), [data]);
  const empty = !drawn.length || drawn.every(frame => frame.length === 0);
  if (empty) return <div data-empty style={{ display: 'grid', placeItems: 'center', height }}>{panel.fieldConfig.defaults.noValue ?? 'No data'}</div>;
  const common = { panel, data: drawn, series: drawn, theme, context, replace, width, height, from: context.from, to: context.to };
  switch (panel.type) {
    case 'timeseries': return <Graph {...common} />;
    case 'stat': return <Stat {...common} />;
    case 'bargauge': return <Bars {...common} />;
    case 'table': return <TableNG data={drawn[0]} width={width} height={height} cellHeight={panel.options.cellHeight} initialSortBy={panel.options.sortBy} fieldConfig={panel.fieldConfig} enableVirtualization={false} />;
    case 'heatmap': return <Heatmap {...common} />;
    case 'state-timeline': return <States {...common} />;
    default: throw new Error(`nothing draws a panel of type ${panel.type}`);
  }
}
