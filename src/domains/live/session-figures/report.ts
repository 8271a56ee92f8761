import { MINUTE } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type {
  ReportChart,
  ReportPart,
  ReportSection,
  ReportSpan,
  ReportWords,
} from '../../publishing/analytics/index.ts'
import { sessionsBetween, type SessionInSpan } from '../streams/index.ts'
import type { SessionSeriesData } from './schemas.ts'
import type { SessionFigures } from './series.ts'

/** Sessions of a span that a report counts. */
const MAX_SESSIONS = 500
/** Sessions that are shown over time: the longest. */
const MAX_CHARTS = 3
/** Rows of the tables: the newest sessions. */
const MAX_ROWS = 30

/** A session and its figures over time. */
export interface ShownSession {
  readonly session: SessionInSpan
  readonly series: SessionSeriesData
}

/** Live streams in reports. Left out if there were none. */
export function liveSection(sql: Sql, figures: SessionFigures): ReportSection {
  return {
    scope: 'streams:read',
    make: async (span) => {
      const { end, start, workspaceId } = span
      const sessions = await sessionsBetween(sql, {
        workspaceId,
        from: new Date(start).toISOString(),
        to: new Date(end).toISOString(),
        limit: MAX_SESSIONS,
      })
      if (sessions.length === 0) return undefined
      const rows: ShownSession[] = []
      for (const session of sessions.slice(0, MAX_ROWS)) {
        rows.push({ session, series: await figures.series(session, session.destinations) })
      }
      return livePart(span, sessions, rows)
    },
  }
}

/** The part about sessions, of which `rows` are those to show one by one. */
export function livePart(
  { buckets, words, zone }: ReportSpan,
  sessions: readonly SessionInSpan[],
  rows: readonly ShownSession[],
): ReportPart {
  const { number, percent, say } = words
  const when = words.timesIn(zone)
  const all = sessions.reduce((sum, { liveMs }) => sum + liveMs, 0)
  const peak = Math.max(...sessions.map(({ peakViewers }) => peakViewers))
  const longest = rows.toSorted((one, other) => other.session.liveMs - one.session.liveMs).slice(0, MAX_CHARTS)
  const counts = { rows: rows.length, sessions: sessions.length }
  const [sessionColumns, destinationColumns] = [
    ['live.stream', 'live.start', 'live.minutes', 'live.mostViewers', 'live.bitrate'] as const,
    ['live.destination', 'live.start', 'live.live', 'live.bitrate', 'live.dropped', 'live.reconnects'] as const,
  ]
  return {
    sentences: [say('live.summary', { sessions: sessions.length, minutes: minutes(all), peak })],
    charts: [minutesChart(buckets, sessions, words), ...longest.flatMap((one) => chartsOf(one, words, zone))],
    tables: [
      {
        title: counts.rows === counts.sessions ? say('live.streams') : say('live.newest', counts),
        columns: sessionColumns.map((column) => say(column)),
        rows: rows.map(({ series, session }) => [
          session.title,
          when(session.startedAt),
          number(minutes(session.liveMs)),
          number(session.peakViewers),
          bitrate(series.bitrate, words),
        ]),
      },
      {
        title: say('live.destinations'),
        columns: destinationColumns.map((column) => say(column)),
        rows: rows.flatMap(({ series, session }) =>
          series.destinations.map((one) => [
            `${session.title}: ${nameOf(one, words)}`,
            when(session.startedAt),
            one.liveShare === null ? say('live.notMeasured') : percent(one.liveShare),
            bitrate(one.bitrate, words),
            number(one.droppedVideo + one.droppedAudio),
            number(one.reconnects),
          ]),
        ),
      },
    ].filter(({ rows: { length } }) => length > 0),
    gaps: rows.flatMap((one) => gapOf(one, words, zone)),
    method: [[say('live.streams'), say('live.method.text')]],
  }
}

function minutesChart(
  buckets: ReportSpan['buckets'],
  sessions: readonly SessionInSpan[],
  { say }: ReportWords,
): ReportChart {
  const values = buckets.map(({ end, start }) => {
    const begun = sessions.filter(({ startedAt }) => Date.parse(startedAt) >= start && Date.parse(startedAt) < end)
    return minutes(begun.reduce((sum, { liveMs }) => sum + liveMs, 0))
  })
  return {
    title: say('live.minutesChart'),
    kind: 'bar',
    alt: say('live.minutesChart.alt'),
    labels: buckets.map(({ label }) => label),
    series: [{ name: say('live.minutes'), values }],
  }
}

function chartsOf({ series, session }: ShownSession, words: ReportWords, zone: string): ReportChart[] {
  const { destinations, points } = series
  if (points.every(({ viewers }) => viewers === null)) return []
  const { say } = words
  const clock = words.clockIn(zone)
  const labels = points.map(({ at }) => clock(at))
  const name = titleOf(session, words, zone)
  const kilobits = (value: number | null) => (value === null ? null : Math.round(value / 1_000))
  const lines = [
    { name: say('live.received'), values: points.map((point) => kilobits(point.bitrate)) },
    ...destinations.map((one) => ({
      name: nameOf(one, words),
      values: one.points.map((point) => kilobits(point.bitrate)),
    })),
  ]
  const charts: ReportChart[] = [
    {
      title: say('live.bitrateOf', { session: name }),
      kind: 'line',
      alt: say('live.bitrateOf.alt', { destinations: destinations.length }),
      labels,
      series: lines.slice(0, 8),
    },
  ]
  if (series.peakViewers > 0) {
    charts.push({
      title: say('live.viewersOf', { session: name }),
      kind: 'line',
      alt: say('live.viewersOf.alt'),
      labels,
      series: [{ name: say('live.viewers'), values: points.map(({ viewers }) => viewers) }],
    })
  }
  return charts
}

function gapOf({ series: { points, stepSeconds }, session }: ShownSession, words: ReportWords, zone: string): string[] {
  const missing = points.filter(({ gap }) => gap?.code === 'not_measured').length
  if (missing === 0) return []
  const seconds = { missing: missing * stepSeconds, seconds: points.length * stepSeconds }
  return [words.say('live.gap', { session: titleOf(session, words, zone), ...seconds })]
}

function titleOf({ startedAt, title }: SessionInSpan, words: ReportWords, zone: string): string {
  return words.say('live.session', { title, time: words.timesIn(zone)(startedAt) })
}

const minutes = (ms: number) => Math.round(ms / MINUTE)

function bitrate(value: number | null, { number, say }: ReportWords): string {
  return value === null ? say('live.notMeasured') : `${number(Math.round(value / 1_000))} kbit/s`
}

function nameOf(
  { name, platform }: { readonly name: string; readonly platform: string },
  { say }: ReportWords,
): string {
  return name === '' ? say('live.removed') : platform === 'custom' ? name : `${name} (${platform})`
}
