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
    pictures: { store: () => Promise.resolve(new Map()) },
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
const ACCOUNT = ['followers', 'following', 'contentCount'] as const
const CONTENT = ['views', 'reach', 'likes', 'comments', 'shares', 'saves', 'clicks', 'watchSeconds'] as const
const ENGAGEMENTS = ['likes', 'comments', 'shares', 'saves'] as const
const FIGURES = [...ACCOUNT, ...CONTENT] as const
type Figure = (typeof FIGURES)[number]
const KEYS = { day: (day: string) => day, week: weekOf, month: (day: string) => day.slice(0, 7) } as const
type Days = ReadonlyMap<string, number | null>

const isAccount = (figure: Figure): figure is (typeof ACCOUNT)[number] =>
  (ACCOUNT as readonly string[]).includes(figure)
const add = (values: readonly (number | null | undefined)[]) => {
  const known = values.filter((one) => one != null)
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0)
}
const divide = (one: number | null, other: number | null) =>
  one === null || other === null || other === 0 ? null : one / other
const within = (days: Days, { from, to }: { from: string; to: string }) =>
  [...days]
    .filter(([day]) => between(day, from, to))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, value]) => value)
/** Replies have six digits after the point. */
const rounded = (value: number | null) => (value === null ? null : (expect.closeTo(value, 5) as number))

/** The last value of each day, and what it gained. Of a figure of posts, only what all posts gained. */
function expectedOf({ year, zone }: Place, figure: Figure): { values: Days; gained: Days } {
  if (isAccount(figure)) {
    const values = closes([...year.account[figure], ...(figure === 'followers' ? year.late : [])], zone)
    return { values, gained: gains(values, false) }
  }
  const all = year.posts.map((post) =>
    gains(closes(post.reports[figure] ?? [], zone), post.publishedAt >= year.startedAt),
  )
  // Posts from before the first reading have a baseline instead.
  return { values: new Map(), gained: sums(all) }
}

describe.each(PLACES.map(({ platform, zone }, index) => [zone, platform, index] as const))('%s', (zone, _, index) => {
  const place = () => places[index]!

  test.each(
    FIGURES.flatMap((figure) => (['day', 'week', 'month'] as const).map((interval) => [figure, interval] as const)),
  )('the %s of each %s are those of the reports, and the rest are gaps', async (figure, interval) => {
    const { gained, values } = expectedOf(place(), figure)
    const query = { workspaceId: place().workspaceId, figure, interval, ...SPAN }
    const { data } = await read(place(), 'GET /api/analytics/platforms/series', query)
    expect(data.timezone).toBe(zone)
    const points = data.accounts[0].points as Point[]
    expect(points.map((point) => [point.from, point.value, point.gained])).toEqual(
      points.map(({ from }) => {
        const isIn = ([day]: [string, unknown]) => KEYS[interval](day) === KEYS[interval](from)
        const own = [...values].filter(isIn).toSorted(([one], [other]) => (one < other ? -1 : 1))
        return [from, own.at(-1)?.[1] ?? null, add([...gained].filter(isIn).map(([, gain]) => gain))]
      }),
    )
    for (const point of points) expect(point.gap === null).toBe(point.value !== null || point.gained !== null)
  })

  test.each(['saturday', 'sunday'] as const)('weeks can begin on %s', async (calendarStartDay) => {
    const { gained, values } = expectedOf(place(), 'followers')
    const query = { workspaceId: place().workspaceId, interval: 'week', calendarStartDay, ...SPAN }
    const { data } = await read(place(), 'GET /api/analytics/followers', query)
    const [, ...points] = data.accounts[0].points as Point[]
    const starts = points.map(({ from }) => new Date(from).getUTCDay())
    expect(new Set(starts)).toEqual(new Set([calendarStartDay === 'sunday' ? 0 : 6]))
    expect(points.map(({ gained: all, value }) => [value, all])).toEqual(
      points.map(({ from, to }) => [within(values, { from, to }).at(-1) ?? null, add(within(gained, { from, to }))]),
    )
  })

  test('every day is a point, and gaps have their reasons', async () => {
    const query = { workspaceId: place().workspaceId, figure: 'followers', ...SPAN }
    const points = (await read(place(), 'GET /api/analytics/platforms/series', query)).data.accounts[0]
      .points as Point[]
    expect(points).toHaveLength(371)
    const codes = new Set(points.flatMap(({ gap }) => gap?.code ?? []))
    expect(codes).toEqual(new Set(['not_started', 'not_collected', 'unavailable', 'limited']))
    // The reset is stored as it was received.
    expect(Math.min(...points.flatMap(({ gained: gain }) => gain ?? []))).toBeLessThan(-500)
  })

  test.each([
    ['2018-03-01', '2018-03-31'],
    ['2018-04-20', '2018-05-10'],
    ['2018-10-01', '2018-11-30'],
    // Months that are whole, and parts of months at both ends.
    ['2018-07-14', '2019-01-10'],
  ])('a span from %s to %s is compared with as many days before', async (from, to) => {
    const query = { workspaceId: place().workspaceId, from, to, compare: true }
    const { data } = await read(place(), 'GET /api/analytics/platforms', query)
    const length = (Date.parse(to) - Date.parse(from)) / DAY + 1
    const now = { from, to }
    const before = {
      from: new Date(Date.parse(from) - length * DAY).toISOString().slice(0, 10),
      to: new Date(Date.parse(from) - DAY).toISOString().slice(0, 10),
    }
    expect(data.previousSpan).toMatchObject({ ...before, dayCount: length })
    const valueIn = (figure: Figure, span: { from: string; to: string }) => {
      const { gained, values } = expectedOf(place(), figure)
      return isAccount(figure) ? (within(values, span).at(-1) ?? null) : add(within(gained, span))
    }
    const engagementsIn = (span: { from: string; to: string }) =>
      add(ENGAGEMENTS.map((figure) => valueIn(figure, span)))
    const [account] = data.accounts
    expect(account.figures.map(({ gap: _gap, ...figure }: { gap: unknown }) => figure)).toEqual(
      FIGURES.map((figure) => {
        const [value, previousValue] = [valueIn(figure, now), valueIn(figure, before)]
        const change = isAccount(figure) ? add(within(expectedOf(place(), figure).gained, now)) : null
        return {
          figure,
          value,
          change,
          changeRate: rounded(value === null || change === null ? null : divide(change, value - change)),
          previousValue,
          comparison: rounded(
            value === null || previousValue === null ? null : divide(value - previousValue, previousValue),
          ),
        }
      }),
    )
    expect(account.engagements).toBe(engagementsIn(now))
    expect(account.rates).toEqual(
      (
        [
          ['engagementRateByFollowers', 'followers'],
          ['engagementRateByReach', 'reach'],
        ] as const
      ).map(([rate, by]) => ({
        rate,
        value: rounded(divide(engagementsIn(now), valueIn(by, now))),
        previousValue: rounded(divide(engagementsIn(before), valueIn(by, before))),
      })),
    )
    // One account, so the totals are its figures.
    expect(data.totals).toEqual(
      FIGURES.map((figure) => {
        const value = valueIn(figure, now)
        return { figure, value, previousValue: valueIn(figure, before), accountCount: value === null ? 0 : 1 }
      }),
    )
    const format = dayIn(zone)
    expect(account.publishedCount).toBe(
      place().year.posts.filter(({ publishedAt }) => between(format(publishedAt), from, to)).length,
    )
  })

  test('the trend of followers is that of the reports', async () => {
    const span = { from: '2018-02-14', to: '2018-12-24' }
    const query = { workspaceId: place().workspaceId, interval: 'month', ...span }
    const { data } = await read(place(), 'GET /api/analytics/followers', query)
    const { gained, values } = expectedOf(place(), 'followers')
    const [value, change] = [within(values, span).at(-1) ?? null, add(within(gained, span))]
    expect(data.accounts[0]).toMatchObject({ value, change, changeRate: rounded(divide(change, value! - change!)) })
    expect(data.combined).toEqual(
      data.accounts[0].points.map(({ from, to, value: one }: Point) => ({ from, to, value: one })),
    )
    expect(data.accounts[0].points[0]).toMatchObject({ from: '2018-02-14', to: '2018-02-28' })
  })

  test('posts have their newest figures, in the order asked for', async () => {
    const { workspaceId, year } = place()
    const query = { workspaceId, ...SPAN, from: '2017-09-01', sort: 'likes', limit: 5 }
    const found: object[] = []
    const likes: (number | null)[] = []
    for (let cursor: string | undefined; ;) {
      const page = await read(place(), 'GET /api/analytics/content', { ...query, ...(cursor && { cursor }) })
      for (const { engagementRateByReach, engagements, figures, origin, text } of page.data) {
        expect(origin).toBe('elsewhere')
        const own = Object.fromEntries(figures.map((one: { figure: string; value: number }) => [one.figure, one.value]))
        likes.push(own['likes'] ?? null)
        found.push({ text, ...own, engagements, engagementRateByReach })
      }
      if (!page.pagination.hasMore) break
      cursor = page.pagination.nextCursor
    }
    const expected = year.posts.map(({ reports, text }) => {
      const newest = (figure: Figure) => reports[figure]?.at(-1)?.value ?? null
      const engagements = add(ENGAGEMENTS.map(newest))
      const engagementRateByReach = rounded(divide(engagements, newest('reach')))
      return {
        text,
        ...Object.fromEntries(CONTENT.map((one) => [one, newest(one)])),
        engagements,
        engagementRateByReach,
      }
    })
    const byText = (all: readonly object[]) =>
      all.toSorted((one, other) => ((one as { text: string }).text < (other as { text: string }).text ? -1 : 1))
    expect(byText(found)).toEqual(byText(expected))
    expect(likes).toEqual(likes.toSorted((one, other) => (other ?? -1) - (one ?? -1)))
  })

  test.each(CONTENT)('a post has its %s over time, and how fast interest in it fades', async (figure) => {
    const query = { workspaceId: place().workspaceId, ...SPAN }
    const { data } = await read(place(), 'GET /api/analytics/content', query)
    const post = place().year.posts.find(({ text }) => text === data[0].text)!
    const asked = { figure, interval: 'week', calendarStartDay: 'sunday', ...SPAN }
    const found = await read(place(), 'GET /api/analytics/content/{id}/series', asked, { id: data[0]._id })
    const reports = post.reports[figure] ?? []
    const values = closes(reports, zone)
    const gained = gains(values, post.publishedAt >= place().year.startedAt)
    const points = found.data.points as Point[]
    expect(points.map((point) => [point.from, point.value, point.gained])).toEqual(
      points.map(({ from, to }) => [
        from,
        within(values, { from, to }).at(-1) ?? null,
        add(within(gained, { from, to })),
      ]),
    )
    const half = reports.find(({ value }) => value >= reports.at(-1)!.value / 2)!
    expect(found.data.halfLifeHours).toBeCloseTo((half.at - post.publishedAt) / HOUR, 1)
    expect(found.data.halfLifeGap).toBeNull()
  })
})

test('another zone of the workspace gives other days, weeks and months', async () => {
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
  for (const figure of ['followers', 'likes'] as const) {
    const { gained, values } = expectedOf({ ...places[0]!, year, zone }, figure)
    for (const interval of ['day', 'week', 'month'] as const) {
      const query = { workspaceId, figure, interval, ...SPAN }
      const { data } = await read(places[0]!, 'GET /api/analytics/platforms/series', query)
      const points = data.accounts[0].points as Point[]
      expect(points.map((point) => [point.from, point.value, point.gained])).toEqual(
        points.map(({ from, to }) => [
          from,
          within(values, { from, to }).at(-1) ?? null,
          add(within(gained, { from, to })),
        ]),
      )
    }
  }
})
