import { MINUTE } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { ReportChart, ReportPart, ReportSection, ReportSpan } from '../../publishing/analytics/index.ts'
import { sessionsBetween, type SessionInSpan } from '../streams/index.ts'
import type { SessionSeriesData } from './schemas.ts'
import type { SessionFigures } from './series.ts'

/** Sessions of a span that a report counts. */
const MOST_SESSIONS = 500
/** Sessions that are shown over time: the longest. */
const MOST_CHARTS = 3
/** Rows of the tables: the newest sessions. */
const MOST_ROWS = 30

interface Shown {
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
        limit: MOST_SESSIONS,
      })
      if (sessions.length === 0) return undefined
      const rows: Shown[] = []
      for (const session of sessions.slice(0, MOST_ROWS)) {
        rows.push({ session, series: await figures.series(session, session.destinations) })
      }
      return partOf(span, sessions, rows)
    },
  }
}

function partOf({ buckets, zone }: ReportSpan, sessions: readonly SessionInSpan[], rows: readonly Shown[]): ReportPart {
  const when = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' })
  const minutes = (ms: number) => Math.round(ms / MINUTE)
  const all = sessions.reduce((sum, { liveMs }) => sum + liveMs, 0)
  const peak = Math.max(...sessions.map(({ peakViewers }) => peakViewers))
  const longest = rows.toSorted((one, other) => other.session.liveMs - one.session.liveMs).slice(0, MOST_CHARTS)
  const left = sessions.length - rows.length
  return {
    sentences: [
      `There ${sessions.length === 1 ? 'was one live stream' : `were ${text(sessions.length)} live streams`} with ${count(minutes(all), 'minute')} of media.${
        peak === 0 ? '' : ` The preview had at most ${count(peak, 'viewer')} at the same time.`
      }`,
    ],
    charts: [
      {
        title: 'Minutes of live streams',
        kind: 'bar',
        alt: 'Bars of the minutes of all live streams by the day or week in which they began. The table has the numbers.',
        labels: buckets.map(({ label }) => label),
        series: [
          {
            name: 'Minutes',
            values: buckets.map(({ end, start }) =>
              minutes(
                sessions
                  .filter(({ startedAt }) => Date.parse(startedAt) >= start && Date.parse(startedAt) < end)
                  .reduce((sum, { liveMs }) => sum + liveMs, 0),
              ),
            ),
          },
        ],
      },
      ...longest.flatMap((one) => chartsOf(one, when, zone)),
    ],
    tables: [
      {
        title:
          left === 0 ? 'Live streams' : `Live streams: the newest ${text(rows.length)} of ${text(sessions.length)}`,
        columns: ['Stream', 'Start', 'Minutes', 'Most viewers', 'Bitrate'],
        rows: rows.map(({ series, session }) => [
          session.title,
          when.format(Date.parse(session.startedAt)),
          text(minutes(session.liveMs)),
          text(session.peakViewers),
          bitrate(series.bitrate),
        ]),
      },
      {
        title: 'Destinations of live streams',
        columns: ['Destination', 'Start', 'Live', 'Bitrate', 'Dropped', 'Reconnects'],
        rows: rows.flatMap(({ series, session }) =>
          series.destinations.map((one) => [
            `${session.title}: ${nameOf(one)}`,
            when.format(Date.parse(session.startedAt)),
            one.liveShare === null
              ? 'not measured'
              : `${(one.liveShare * 100).toLocaleString('en', { maximumFractionDigits: 1 })} %`,
            bitrate(one.bitrate),
            text(one.droppedVideo + one.droppedAudio),
            text(one.reconnects),
          ]),
        ),
      },
    ].filter(({ rows: { length } }) => length > 0),
    gaps: rows.flatMap(({ series, session }) => gapOf(series, session, when)),
    method: [
      [
        'Live streams',
        'Counted by the day in which they began, in minutes with media. Viewers are those of the preview: platforms do not report theirs over RTMP. A destination is live while its server acknowledges the media. Dropped are messages of video and audio that a destination was too slow for.',
      ],
    ],
  }
}

function chartsOf({ series, session }: Shown, when: Intl.DateTimeFormat, zone: string): ReportChart[] {
  const { destinations, points } = series
  if (points.every(({ viewers }) => viewers === null)) return []
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, timeStyle: 'medium' })
  const labels = points.map(({ at }) => clock.format(Date.parse(at)))
  const name = `“${session.title}” on ${when.format(Date.parse(session.startedAt))}`
  const kilobits = (value: number | null) => (value === null ? null : Math.round(value / 1_000))
  const lines = [
    { name: 'Received', values: points.map((point) => kilobits(point.bitrate)) },
    ...destinations.map((one) => ({ name: nameOf(one), values: one.points.map((point) => kilobits(point.bitrate)) })),
  ]
  const charts: ReportChart[] = [
    {
      title: `Bitrate of ${name}`,
      kind: 'line',
      alt: `Lines of the kilobits per second that were received, and sent to ${count(destinations.length, 'destination')}. The table has the numbers.`,
      labels,
      series: lines.slice(0, 8),
    },
  ]
  if (series.peakViewers > 0) {
    charts.push({
      title: `Viewers of ${name}`,
      kind: 'line',
      alt: 'A line of the viewers of the preview. The table has the numbers.',
      labels,
      series: [{ name: 'Viewers', values: points.map(({ viewers }) => viewers) }],
    })
  }
  return charts
}

function gapOf(
  { points, stepSeconds }: SessionSeriesData,
  { startedAt, title }: SessionInSpan,
  when: Intl.DateTimeFormat,
) {
  const missing = points.filter(({ gap }) => gap?.code === 'not_measured').length
  if (missing === 0) return []
  return [
    `“${title}” on ${when.format(Date.parse(startedAt))}: about ${count(missing * stepSeconds, 'second')} of ${text(points.length * stepSeconds)} were not measured. No media node reported this time.`,
  ]
}

const text = (value: number) => value.toLocaleString('en')
const count = (value: number, one: string) => `${text(value)} ${value === 1 ? one : `${one}s`}`
const bitrate = (value: number | null) =>
  value === null ? 'not measured' : `${text(Math.round(value / 1_000))} kbit/s`

function nameOf({ name, platform }: { readonly name: string; readonly platform: string }): string {
  return name === '' ? 'Removed destination' : platform === 'custom' ? name : `${name} (${platform})`
}
