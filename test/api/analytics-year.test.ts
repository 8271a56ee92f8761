import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR, ManualClock } from '../../src/core/clock.ts'
import { AnalyticsCollector } from '../../src/domains/publishing/analytics/collection/collector.ts'
import { startApp, type App } from '../support/app.ts'
import { seedUser, type SeededUser } from '../support/seed.ts'
import { YearOfFigures, type Reported } from '../support/year-of-figures.ts'

/**
 * A year of three platforms, with gaps, corrections, rate limits, a reset and late figures. Everything that the API says
 * is compared with what the test computes from the raw replies by itself, with `Intl` for days.
 */

const START = Date.parse('2018-01-15T10:00:00Z')
const END = START + 365 * DAY

/** Kathmandu is 5:45 ahead, São Paulo changes its clocks at midnight, and Lord Howe by half an hour. */
const PLACES = [
  { zone: 'Asia/Kathmandu', platform: 'mastodon', seed: 11 },
  { zone: 'America/Sao_Paulo', platform: 'bluesky', seed: 22 },
  { zone: 'Australia/Lord_Howe', platform: 'x', seed: 33 },
] as const

interface Place {
  readonly zone: string
  readonly platform: string
  readonly workspaceId: string
  readonly accountId: string
  readonly year: YearOfFigures
}

let app: App
let owner: SeededUser
const clock = new ManualClock(START)
const places: Place[] = []

beforeAll(async () => {
  app = await startApp({ clock })
  owner = await seedUser(app, 'analyst', { plan: 'business' })
  for (const { platform, seed, zone } of PLACES) {
    const workspaceId = await make('POST /api/workspaces', { name: zone, timezone: zone })
    const accountId = await make('POST /api/social-accounts', { workspaceId, platform, sandbox: true })
    places.push({ zone, platform, workspaceId, accountId, year: new YearOfFigures(seed, START, END) })
  }
  for (const { accountId, platform, workspaceId } of places) {
    const { analytics } = app.composition.services
    await app.database.transaction((tx) => analytics.watch.add(tx, { id: accountId, platform, workspaceId }))
  }
  await live()
})
afterAll(() => app?.stop())

async function make(route: string, body: object): Promise<string> {
  const reply = await app.send(route, { apiKey: owner.apiKey, body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id
}

/** Lives through the year: reads each account at the times of its history. */
async function live(): Promise<void> {
  const { recorder } = app.composition.services.analytics
  const byId = new Map(places.map((place) => [place.accountId, place]))
  const collector = new AnalyticsCollector({
    sql: app.database,
    clock,
    recorder,
    calls: {
      run: async (accountId, _options, work) =>
        work({ context: {}, platform: byId.get(accountId)!.year.platform(clock.now()) } as never),
    },
  })
  const readings = places.flatMap((place) => place.year.readings.map((at) => ({ at, place })))
  for (const { at, place } of readings.toSorted((one, other) => one.at - other.at)) {
    clock.advance(at - clock.now())
    await collector.collect(place.accountId, AbortSignal.timeout(60_000), (work) => app.database.transaction(work))
  }
  clock.advance(END - clock.now())
  for (const { accountId, year, zone } of places) {
    // Figures that the platform reports late, with its own time.
    await app.database.transaction((tx) =>
      recorder.record(
        tx,
        { accountId, zone },
        year.late.map(({ at, value }) => ({
          contentId: null,
          figure: 'followers' as const,
          at,
          value,
          source: 'account' as const,
          fromZero: false,
        })),
      ),
    )
  }
}

/** The day of an instant, as `Intl` says it. */
const dayIn = (zone: string) => {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone })
  return (at: number) => format.format(at)
}

/** The last value of each day. */
function closes(reports: readonly Reported[], zone: string): Map<string, number> {
  const day = dayIn(zone)
  return new Map(reports.toSorted((one, other) => one.at - other.at).map(({ at, value }) => [day(at), value]))
}

/** What each day gained over the last earlier day with a report. */
function gains(days: ReadonlyMap<string, number>, isFromZero: boolean): Map<string, number | null> {
  let before: number | null = isFromZero ? 0 : null
  return new Map(
    [...days].map(([day, value]) => {
      const gained = before === null ? null : value - before
      before = value
      return [day, gained]
    }),
  )
}

function sums(all: readonly ReadonlyMap<string, number | null>[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const days of all) {
    for (const [day, gained] of days) if (gained !== null) found.set(day, (found.get(day) ?? 0) + gained)
  }
  return found
}

const between = (day: string, from: string, to: string) => day >= from && day <= to
const weekOf = (day: string) => {
  const date = new Date(`${day}T00:00:00Z`)
  return new Date(date.getTime() - ((date.getUTCDay() + 6) % 7) * DAY).toISOString().slice(0, 10)
}

async function read(place: Place, route: string, query: object, path = {}) {
  const reply = await app.send(route, { apiKey: owner.apiKey, query: query as never, path })
  expect(reply.status, reply.text).toBe(200)
  return reply.body
}

interface Point {
  readonly from: string
  readonly to: string
  readonly value: number | null
  readonly gained: number | null
  readonly gap: { readonly code: string } | null
}

const SPAN = { from: '2018-01-10', to: '2019-01-15' }

describe.each(PLACES.map(({ platform, zone }, index) => [zone, platform, index] as const))('%s', (zone, _, index) => {
  const place = () => places[index]!
  const followerDays = () => closes([...place().year.followers, ...place().year.late], zone)
  /** What the posts gained each day. Posts from before the first reading have a baseline instead. */
  const gainedBy = (figure: string) =>
    sums(
      place().year.posts.map((post) =>
        gains(closes(post.reports[figure] ?? [], zone), post.publishedAt >= place().year.startedAt),
      ),
    )
  const series = async (figure: string, interval = 'day') => {
    const query = { workspaceId: place().workspaceId, figure, interval, ...SPAN }
    const { data } = await read(place(), 'GET /api/analytics/platforms/series', query)
    expect(data.timezone).toBe(zone)
    return data.accounts[0].points as Point[]
  }

  test('every day has the last follower count of the day, or is a gap with a reason', async () => {
    const expected = followerDays()
    const gained = gains(expected, false)
    const points = await series('followers')
    expect(points).toHaveLength(371)
    expect(points.map(({ from, gained: gain, value }) => [from, value, gain])).toEqual(
      points.map(({ from }) => [from, expected.get(from) ?? null, gained.get(from) ?? null]),
    )
    for (const { gap, value } of points) expect(gap === null).toBe(value !== null)
    const codes = new Set(points.flatMap(({ gap }) => gap?.code ?? []))
    expect(codes).toEqual(new Set(['not_started', 'not_collected', 'unavailable', 'limited']))
    // The reset is stored as it was received.
    expect(Math.min(...points.flatMap(({ gained: gain }) => gain ?? []))).toBeLessThan(-500)
  })

  test('weeks and months have the last report in them, and what they gained', async () => {
    const expected = followerDays()
    const gained = gains(expected, false)
    for (const [interval, key] of [
      ['week', weekOf],
      ['month', (day: string) => day.slice(0, 7)],
    ] as const) {
      const points = await series('followers', interval)
      const wanted = Map.groupBy([...expected.keys()].toSorted(), key)
      expect(points.map(({ from, gained: gain, value }) => [from, value, gain])).toEqual(
        points.map(({ from }) => {
          const days = wanted.get(key(from)) ?? []
          const known = days.flatMap((day) => gained.get(day) ?? [])
          const sum = known.length === 0 ? null : known.reduce((one, two) => one + two, 0)
          return [from, expected.get(days.at(-1) ?? '') ?? null, sum]
        }),
      )
    }
  })

  test('the gains of all posts are those of their series', async () => {
    const expected = gainedBy('likes')
    const points = await series('likes')
    expect(points.map(({ from, gained }) => [from, gained])).toEqual(
      points.map(({ from }) => [from, expected.get(from) ?? null]),
    )
  })

  test.each([
    ['2018-03-01', '2018-03-31'],
    ['2018-04-20', '2018-05-10'],
    ['2018-10-01', '2018-11-30'],
  ])('a span from %s to %s is compared with as many days before', async (from, to) => {
    const query = { workspaceId: place().workspaceId, from, to, compare: true }
    const { data } = await read(place(), 'GET /api/analytics/platforms', query)
    const length = (Date.parse(to) - Date.parse(from)) / DAY + 1
    const previous = {
      from: new Date(Date.parse(from) - length * DAY).toISOString().slice(0, 10),
      to: new Date(Date.parse(from) - DAY).toISOString().slice(0, 10),
    }
    expect(data.previousSpan).toMatchObject({ ...previous, dayCount: length })
    const figures = new Map<string, Record<string, number | null>>(
      data.accounts[0].figures.map((one: { figure: string }) => [one.figure, one]),
    )
    const days = followerDays()
    const own = [...days.keys()].filter((day) => between(day, from, to)).toSorted()
    const value = days.get(own.at(-1)!)!
    const change = own.reduce((sum, day) => sum + (gains(days, false).get(day) ?? 0), 0)
    expect(figures.get('followers')).toMatchObject({ value, change })
    expect(figures.get('followers')?.['changeRate']).toBeCloseTo(change / (value - change), 5)
    const sumIn = (one: Map<string, number>, span: { from: string; to: string }) => {
      const found = [...one].filter(([day]) => between(day, span.from, span.to))
      return found.length === 0 ? null : found.reduce((sum, [, gained]) => sum + gained, 0)
    }
    for (const figure of ['likes', 'comments', 'shares']) {
      const expected = gainedBy(figure)
      expect(figures.get(figure), figure).toMatchObject({
        value: sumIn(expected, { from, to }),
        previousValue: sumIn(expected, previous),
      })
    }
    const engagements = ['likes', 'comments', 'shares', 'saves']
      .map((figure) => sumIn(gainedBy(figure), { from, to }))
      .reduce<number | null>((sum, one) => (one === null ? sum : (sum ?? 0) + one), null)
    expect(data.accounts[0].engagements).toBe(engagements)
    expect(data.accounts[0].rates[0].value).toBeCloseTo(engagements! / value, 5)
    const format = dayIn(zone)
    expect(data.accounts[0].publishedCount).toBe(
      place().year.posts.filter(({ publishedAt }) => between(format(publishedAt), from, to)).length,
    )
  })

  test('posts have their newest figures, in the order asked for', async () => {
    const { workspaceId, year } = place()
    const query = { workspaceId, ...SPAN, from: '2017-09-01', sort: 'likes', limit: 5 }
    const found: { text: string; likes: number | null }[] = []
    for (let cursor: string | undefined; ;) {
      const page = await read(place(), 'GET /api/analytics/content', { ...query, ...(cursor && { cursor }) })
      for (const { figures, origin, text } of page.data) {
        expect(origin).toBe('elsewhere')
        const likes = figures.find((one: { figure: string }) => one.figure === 'likes').value
        found.push({ text, likes })
      }
      if (!page.pagination.hasMore) break
      cursor = page.pagination.nextCursor
    }
    const expected = year.posts.map(({ reports, text }) => ({ text, likes: reports['likes']?.at(-1)?.value ?? null }))
    expect(found.toSorted((one, other) => (one.text < other.text ? -1 : 1))).toEqual(
      expected.toSorted((one, other) => (one.text < other.text ? -1 : 1)),
    )
    expect(found.map(({ likes }) => likes)).toEqual(
      found.map(({ likes }) => likes).toSorted((one, other) => (other ?? -1) - (one ?? -1)),
    )
  })

  test('a post has its series, and how fast interest in it fades', async () => {
    const query = { workspaceId: place().workspaceId, ...SPAN }
    const { data } = await read(place(), 'GET /api/analytics/content', query)
    const post = place().year.posts.find(({ text }) => text === data[0].text)!
    const found = await read(
      place(),
      'GET /api/analytics/content/{id}/series',
      { figure: 'likes', ...SPAN },
      {
        id: data[0]._id,
      },
    )
    const expected = closes(post.reports['likes'] ?? [], zone)
    const points = found.data.points as Point[]
    expect(points.map(({ from, value }) => [from, value])).toEqual(
      points.map(({ from }) => [from, expected.get(from) ?? null]),
    )
    const reports = post.reports['likes'] ?? []
    const half = reports.find(({ value }) => value >= reports.at(-1)!.value / 2)!
    expect(found.data.halfLifeHours).toBeCloseTo((half.at - post.publishedAt) / HOUR, 1)
  })
})

test('another zone of the workspace gives other days', async () => {
  const { accountId, workspaceId, year } = places[0]!
  const { recorder } = app.composition.services.analytics
  const zone = 'Pacific/Auckland'
  const changed = await app.send('PATCH /api/workspaces/{workspaceId}', {
    apiKey: owner.apiKey,
    path: { workspaceId },
    body: { timezone: zone },
  })
  expect(changed.status, changed.text).toBe(200)
  await app.database.transaction((tx) => recorder.moveToZone(tx, accountId, zone))
  const query = { workspaceId, figure: 'followers', ...SPAN }
  const { data } = await read(places[0]!, 'GET /api/analytics/platforms/series', query)
  const expected = closes([...year.followers, ...year.late], zone)
  const points = data.accounts[0].points as Point[]
  expect(points.map(({ from, value }) => [from, value])).toEqual(
    points.map(({ from }) => [from, expected.get(from) ?? null]),
  )
  const likes = await read(places[0]!, 'GET /api/analytics/platforms/series', { ...query, figure: 'likes' })
  const gained = sums(
    year.posts.map((post) => gains(closes(post.reports['likes'] ?? [], zone), post.publishedAt >= year.startedAt)),
  )
  expect(likes.data.accounts[0].points.map((one: Point) => [one.from, one.gained])).toEqual(
    points.map(({ from }) => [from, gained.get(from) ?? null]),
  )
})
