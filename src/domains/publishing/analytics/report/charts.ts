import { BarChart, LineChart } from 'echarts/charts'
import { GridComponent, LegendComponent } from 'echarts/components'
import { init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'
import type { ReportChart } from './model.ts'

use([BarChart, GridComponent, LegendComponent, LineChart, SVGRenderer])

const SIZE = { width: 720, height: 300 } as const
/** Each has a contrast of at least 3 to 1 with white, and with its neighbours in greyscale. */
const COLORS = ['#0b5cad', '#c2410c', '#15803d', '#7e22ce', '#b91c1c', '#0f766e', '#a16207', '#475569']
/** The first one is part of typst, the others are in browsers. */
const FONT = 'Libertinus Serif, Georgia, serif'

/** The chart as SVG, with texts as text. A gap is an interruption of the line, never a zero and never a line across. */
export function chartSvg({ kind, labels, series }: ReportChart): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...SIZE })
  const text = { fontFamily: FONT, fontSize: 13, color: '#1f2937' }
  chart.setOption({
    animation: false,
    color: COLORS,
    textStyle: text,
    grid: { left: 64, right: 20, top: series.length > 1 ? 44 : 16, bottom: 34 },
    ...(series.length > 1 && { legend: { top: 0, itemGap: 28, textStyle: text } }),
    xAxis: { type: 'category', data: [...labels], axisLabel: { ...text, hideOverlap: true } },
    yAxis: { type: 'value', scale: kind === 'line', axisLabel: text, splitNumber: 4 },
    series: series.map(({ name, values }) => ({
      type: kind,
      name,
      // A single report between two gaps is a point.
      ...(kind === 'line' && { connectNulls: false, showSymbol: true, symbolSize: 4, lineStyle: { width: 2 } }),
      ...(kind === 'bar' && { stack: 'all' }),
      data: values.map((value) => value ?? '-'),
    })),
  })
  const svg = chart.renderToSVGString()
  chart.dispose()
  return svg
}
