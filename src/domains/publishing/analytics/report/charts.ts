import { BarChart, LineChart } from 'echarts/charts'
import { GridComponent, LegendComponent } from 'echarts/components'
import { init, setPlatformAPI, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'
import { reportWords, type ReportLanguageName } from './language.ts'
import type { ReportChart } from './model.ts'

use([BarChart, GridComponent, LegendComponent, LineChart, SVGRenderer])

const WIDTH = 720
/** Without the legend. */
const HEIGHT = 276
/** A row is as high as an icon and the gap below it. Two items of the longest text fit side by side. */
const LEGEND = { row: 30, icon: 32, gap: 12, mostText: 322 } as const
const FONT_SIZE = 13
/** Widths of characters in parts of the size of the font, in the widest serif font of browsers. The last is of emoji and CJK. */
const WIDTHS: readonly (readonly [of: RegExp, width: number])[] = [
  [/[ ijlft.,:;'’()|!]/, 0.42],
  [/[mwMW@%]/, 0.98],
  [/\p{Lu}/u, 0.78],
  [/[\0-\u10ff]/, 0.65],
  [/[^]/, 1.3],
]
/** Colors of texts, lines of the axes and lines across, which the page replaces in dark mode. */
export const INK = { text: '#1f2937', axis: '#6b7280', line: '#d1d5db' } as const
/** Each has a contrast of at least 3 to 1 with white, and with its neighbours in greyscale. */
export const COLORS = ['#0b5cad', '#c2410c', '#15803d', '#7e22ce', '#b91c1c', '#0f766e', '#a16207', '#475569']
/** The first one is part of typst, the others are in browsers. */
const FONT = 'Libertinus Serif, Georgia, serif'

// A browser shows the chart in another font than ECharts measures here, so that its own measure lets texts overlap.
setPlatformAPI({
  measureText: (text, font) => ({ width: widthOf(text, Number(/([\d.]+)px/.exec(font ?? '')?.[1] ?? FONT_SIZE)) }),
})

/** The width of a text in pixels, at most. */
function widthOf(text: string, fontSize: number): number {
  const parts = Array.from(text, (character) => WIDTHS.find(([of]) => of.test(character))?.[1] ?? 0)
  return parts.reduce((sum, part) => sum + part, 0) * fontSize
}

/** The chart as SVG, with texts as text. A gap is an interruption of the line, never a zero and never a line across. */
export function chartSvg({ kind, labels, series }: ReportChart, language: ReportLanguageName): string {
  const legend = series.length > 1 ? legendOf(series.map(({ name }) => name)) : undefined
  const top = legend === undefined ? 16 : legend.height + 12
  const height = HEIGHT + (legend?.height ?? 0)
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height })
  const text = { fontFamily: FONT, fontSize: FONT_SIZE, color: INK.text }
  const axisLine = { lineStyle: { color: INK.axis } }
  chart.setOption({
    animation: false,
    color: COLORS,
    textStyle: text,
    grid: { left: 64, right: 20, top, bottom: 34 },
    ...(legend && {
      legend: {
        top: 0,
        itemGap: LEGEND.gap,
        textStyle: { ...text, width: legend.textWidth, overflow: 'truncate' },
      },
    }),
    xAxis: {
      type: 'category',
      data: [...labels],
      axisLine,
      axisTick: axisLine,
      axisLabel: { ...text, hideOverlap: true },
    },
    // Everything that is drawn is counted, so there are no fractions.
    yAxis: {
      type: 'value',
      scale: kind === 'line',
      minInterval: 1,
      axisLabel: { ...text, formatter: reportWords(language).number },
      splitNumber: 4,
      splitLine: { lineStyle: { color: INK.line } },
    },
    series: series.map(({ name, values }) => ({
      type: kind,
      name,
      // A single report between two gaps is a point.
      ...(kind === 'line' && {
        connectNulls: false,
        showSymbol: true,
        symbol: 'circle',
        symbolSize: 5,
        lineStyle: { width: 2 },
      }),
      ...(kind === 'bar' && { stack: 'all' }),
      data: values.map((value) => value ?? '-'),
    })),
  })
  const svg = chart.renderToSVGString()
  chart.dispose()
  return svg
}

/** The height of a legend whose items have one width, so that its rows are known before it is drawn. */
function legendOf(names: readonly string[]): { textWidth: number; height: number } {
  const longest = Math.max(...names.map((name) => widthOf(name, FONT_SIZE)))
  const textWidth = Math.min(LEGEND.mostText, Math.ceil(longest) + 2)
  const perRow = Math.max(1, Math.floor((WIDTH + LEGEND.gap) / (textWidth + LEGEND.icon + LEGEND.gap)))
  return { textWidth, height: Math.ceil(names.length / perRow) * LEGEND.row }
}
