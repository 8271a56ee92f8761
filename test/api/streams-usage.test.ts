import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { UsageMeter, type Metering } from '../../src/domains/live/media-link/usage-meter.ts'
import { SessionSampler } from '../../src/domains/live/session-figures/index.ts'
import { SessionFigures } from '../../src/domains/live/session-figures/series.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

let app: App

beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app?.stop())

interface Fixture {
  readonly clock: ManualClock
  readonly meter: UsageMeter
  readonly ownerId: string
  readonly usedUp: Metering[]
  readonly warnings: number[]
  /** Streams for some seconds. The media node reports once a second. */
  readonly stream: (streamId: string, ingestId: string, fromMs: number, seconds: number) => Promise<void>
  readonly rows: () => Promise<{ month: string; live_ms: number }[]>
}

function fixture(start: string, minutes = 1_000): Fixture {
  const clock = new ManualClock(Date.parse(start))
  const ownerId = uuidv7(1)
  const usedUp: Metering[] = []
  const warnings: number[] = []
  const meter = new UsageMeter({
    database: app.database,
    clock,
    log: app.node.resources.log,
    minutesOf: async () => minutes,
    onUsedUp: (stream) => usedUp.push(stream),
    onRunningOut: (_stream, left) => warnings.push(left),
  })
  return {
    clock,
    meter,
    ownerId,
    usedUp,
    warnings,
    stream: async (streamId, ingestId, fromMs, seconds) => {
      for (let second = 1; second <= seconds; second += 1) {
        clock.advance(SECOND)
        meter.record(streamId, ingestId, fromMs + second * SECOND)
        await meter.tick()
      }
    },
    rows: () =>
      app.database.rows(
        `select month::text, sum(live_ms)::bigint as live_ms from stream_usage where owner_id = $1 group by month order by month`,
        [ownerId],
      ),
  }
}

const charge = (ownerId: string) => ({ ownerId, sessionId: uuidv7(2), workspaceId: uuidv7(3) })

test('counts a stream across the end of a month in both months', async () => {
  const { clock, meter, ownerId, rows, stream } = fixture('2026-11-30T23:59:57.600Z')
  const [streamId, ingestId] = [uuidv7(4), uuidv7(5)]
  meter.setCharge(streamId, charge(ownerId))
  await stream(streamId, ingestId, 0, 5)
  expect(new Date(clock.now()).toISOString()).toBe('2026-12-01T00:00:02.600Z')
  expect(await rows()).toEqual([
    { month: '2026-11-01', live_ms: 2_400 },
    { month: '2026-12-01', live_ms: 2_600 },
  ])
})

test('charges earlier use to the session once the session is known', async () => {
  const { meter, ownerId, rows, stream } = fixture('2026-11-10T10:00:00Z')
  const [streamId, ingestId] = [uuidv7(4), uuidv7(5)]
  await stream(streamId, ingestId, 0, 2)
  expect(await rows()).toEqual([])
  meter.setCharge(streamId, charge(ownerId))
  await meter.tick()
  expect(await rows()).toEqual([{ month: '2026-11-01', live_ms: 2_000 }])
})

test('charges nothing twice for figures that are late, repeated or after the end', async () => {
  const { meter, ownerId, rows, stream } = fixture('2026-11-10T10:00:00Z')
  const [streamId, ingestId] = [uuidv7(4), uuidv7(5)]
  meter.setCharge(streamId, charge(ownerId))
  await stream(streamId, ingestId, 0, 3)
  meter.record(streamId, ingestId, 1_000)
  meter.forget(streamId)
  meter.record(streamId, ingestId, 3_400)
  meter.end(ingestId)
  await Promise.all([meter.tick(), meter.tick()])
  meter.record(streamId, ingestId, 3_400)
  await meter.tick()
  expect(await rows()).toEqual([{ month: '2026-11-01', live_ms: 3_400 }])
})

test('adds a second publisher of a session to the first', async () => {
  const { meter, ownerId, rows, stream } = fixture('2026-11-10T10:00:00Z')
  const streamId = uuidv7(4)
  meter.setCharge(streamId, charge(ownerId))
  await stream(streamId, uuidv7(5), 0, 3)
  meter.endAll()
  await stream(streamId, uuidv7(6), 0, 2)
  expect(await rows()).toEqual([{ month: '2026-11-01', live_ms: 5_000 }])
})

test('warns at five minutes and at one, and ends all streams of the owner at the limit', async () => {
  const { meter, ownerId, stream, usedUp, warnings } = fixture('2026-11-10T10:00:00Z', 10)
  const [one, two] = [uuidv7(4), uuidv7(5)]
  meter.setCharge(one, charge(ownerId))
  meter.setCharge(two, charge(ownerId))
  await stream(one, uuidv7(6), 4 * MINUTE, 2)
  expect(warnings).toEqual([])
  await stream(two, uuidv7(7), 1 * MINUTE, 1)
  expect(warnings).toEqual([5])
  await stream(one, uuidv7(8), 4 * MINUTE, 1)
  expect(warnings.at(-1)).toBe(1)
  expect(usedUp).toEqual([])
  await stream(two, uuidv7(9), 1 * MINUTE, 1)
  expect(usedUp).toMatchObject([{ streamId: two }])
})

test('keeps counts while the database is unavailable', async () => {
  const { clock, meter, ownerId, rows } = fixture('2026-11-10T10:00:00Z')
  const [streamId, ingestId] = [uuidv7(4), uuidv7(5)]
  meter.setCharge(streamId, charge(ownerId))
  meter.record(streamId, ingestId, 2_000)
  await app.database.run('alter table stream_usage rename to stream_usage_away')
  await expect(meter.tick()).rejects.toThrow(/stream_usage/)
  await app.database.run('alter table stream_usage_away rename to stream_usage')
  clock.advance(SECOND)
  meter.record(streamId, ingestId, 3_000)
  await meter.tick()
  expect(await rows()).toEqual([{ month: '2026-11-01', live_ms: 3_000 }])
})

describe('figures of a session', () => {
  const START = Date.parse('2026-11-10T10:00:00Z')
  const destinationId = uuidv7(77)
  let world: World
  let workspaceId: string
  let streamId: string
  let sessionId: string
  let counts = { droppedVideo: 0, droppedAudio: 0, reconnects: 0 }

  beforeAll(async () => {
    world = new World(app)
    workspaceId = await world.workspace('figures', 'ada')
    const body = { workspaceId, title: 'Engines live' }
    const made = await app.send('POST /api/streams', { apiKey: world.key('ada'), body })
    streamId = made.body.data._id
    sessionId = uuidv7(START)
    const end = new Date(START + 60 * SECOND)
    const named = { destinationId, platform: 'custom', name: 'Harbour', accountId: destinationId, status: 'stopped' }
    await app.database.run(
      `insert into stream_sessions (id, stream_id, workspace_id, owner_id, started_at, ended_at, end_reason, destinations, peak_viewers)
       values ($1, $2, $3, $4, $5, $6, 'stopped', $7, 4)`,
      [
        sessionId,
        streamId,
        workspaceId,
        world.id('ada'),
        new Date(START),
        end,
        JSON.stringify([{ ...named, lastError: null }]),
      ],
    )
    await app.database.run(
      `insert into stream_usage (ingest_id, month, session_id, stream_id, workspace_id, owner_id, live_ms, updated_at)
       values ($1, '2026-11-01', $2, $3, $4, $5, 120000, $6)`,
      [uuidv7(78), sessionId, streamId, workspaceId, world.id('ada'), end],
    )
  })

  /** What the media process reports. */
  const report = (bitrate: number | null, viewers: number, state = 'live', live = true) =>
    ({
      streams: [
        {
          streamId,
          live,
          viewers,
          ingest: bitrate === null ? null : { bitrate },
          destinations: [{ id: destinationId, state, bitrate: 1_000_000, ...counts }],
        },
      ],
    }) as unknown as Parameters<SessionSampler['observe']>[0]

  const series = async () => {
    const path = { id: streamId, sessionId }
    const reply = await app.send('GET /api/streams/{id}/sessions/{sessionId}/series', {
      apiKey: world.key('ada'),
      path,
    })
    expect(reply.status, reply.text).toBe(200)
    return reply.body.data
  }

  test('are measured by steps, of two nodes one after the other, with gaps that are never zero', async () => {
    const clock = new ManualClock(START)
    const first = new SessionSampler(app.database, clock)
    const second = new SessionSampler(app.database, clock)
    const observe = (sampler: SessionSampler, seconds: number, ...given: Parameters<typeof report>) => {
      for (let second_ = 0; second_ < seconds; second_ += 1) {
        clock.advance(SECOND)
        sampler.observe(report(...given))
      }
    }
    // 9 s with a publisher, then 10 s without one.
    first.setSession(streamId, sessionId, 0)
    observe(first, 4, 2_000_000, 1)
    counts = { droppedVideo: 5, droppedAudio: 1, reconnects: 0 }
    observe(first, 5, 4_000_000, 4)
    observe(first, 10, null, 2, 'backoff')
    // The node is lost for 25 s. The next one counts from zero.
    first.endAll()
    await first.write()
    clock.advance(25 * SECOND)
    counts = { droppedVideo: 2, droppedAudio: 0, reconnects: 1 }
    second.setSession(streamId, sessionId, 0)
    observe(second, 5, 3_000_000, 0)
    // What is reported after the end, or of another stream, does not count.
    observe(second, 2, 9_000_000, 9, 'live', false)
    second.setSession(streamId, undefined, 0)
    await second.write()
    await second.write()

    const found = await series()
    expect(found).toMatchObject({ stepSeconds: 10, peakViewers: 4, publisherSeconds: 14 })
    expect(found.points).toMatchObject(
      [
        {
          at: '2026-11-10T10:00:00.000Z',
          viewers: 4,
          bitrate: (4 * 2e6 + 5 * 4e6) / 9,
          publisherSeconds: 9,
          gap: null,
        },
        { viewers: 2, bitrate: null, publisherSeconds: 0, gap: { code: 'no_publisher' } },
        { viewers: null, bitrate: null, publisherSeconds: null, gap: { code: 'not_measured' } },
        { viewers: null, bitrate: null, gap: { code: 'not_measured' } },
        { viewers: 0, bitrate: 3_000_000, publisherSeconds: 5, gap: null },
        { viewers: null, gap: { code: 'not_measured' } },
      ].map((one) => (one.bitrate ? { ...one, bitrate: Math.round(one.bitrate) } : one)),
    )
    expect(found.destinations).toMatchObject([
      { destinationId, name: 'Harbour', droppedVideo: 7, droppedAudio: 1, reconnects: 1, bitrate: 1_000_000 },
    ])
    const [{ liveShare, points }] = found.destinations
    expect(liveShare).toBeCloseTo(14 / 24, 4)
    expect(points).toMatchObject([
      { status: 'live', liveShare: 1, droppedVideo: 5, droppedAudio: 1 },
      { status: 'backoff', liveShare: 0, droppedVideo: 0 },
      { status: null, liveShare: null, bitrate: null, droppedVideo: null },
      { status: null },
      { status: 'live', liveShare: 1, droppedVideo: 2, reconnects: 1 },
      { status: null },
    ])
  })

  test('are in reports, for readers who may see streams', async () => {
    await world.member('figures', 'bob', { scopes: ['analytics:read'] })
    const query = { workspaceId, from: '2026-11-01', to: '2026-11-12' }
    const report_ = async (name: string) =>
      (await app.send('GET /api/analytics/report.html', { apiKey: world.key(name), query })).text
    const html = await report_('ada')
    expect(html).toContain('There was one live stream with 2 minutes of media. The preview had at most 4 viewers')
    expect(html).toContain('Bitrate of “Engines live” on 10 Nov 2026, 11:00')
    expect(html).toContain('<th scope="row">Engines live: Harbour</th><td>10 Nov 2026, 11:00</td><td>58.3%</td>')
    expect(html).toContain('about 30 seconds of 60 were not measured')
    expect(await report_('bob')).not.toContain('Engines live')
  })

  test('are kept for 90 days', async () => {
    const at = (days: number) => new Date(START - days * DAY)
    for (const days of [89, 91]) {
      await app.database.run(
        `insert into stream_samples (session_id, at, measured_ms, publisher_ms, received_bits, viewers)
         values ($1, $2, 1000, 0, 0, 0)`,
        [sessionId, at(days)],
      )
    }
    await new SessionFigures(app.database, new ManualClock(START)).prune(90 * DAY)
    const [oldest] = await app.database.rows<{ at: string }>('select min(at) as at from stream_samples')
    expect(new Date(oldest?.at ?? 0)).toEqual(at(89))
  })

  test('count viewers who were there before the session and left before the first report', async () => {
    const sampler = new SessionSampler(app.database, new ManualClock(START + 40 * SECOND))
    sampler.setSession(streamId, sessionId, 7)
    sampler.sawViewers(streamId, 1)
    sampler.endAll()
    await sampler.write()
    expect((await series()).points[4]).toMatchObject({ viewers: 7 })
  })

  test('wait while the database is unavailable, and are gone with the stream', async () => {
    const clock = new ManualClock(START + 60 * SECOND)
    const sampler = new SessionSampler(app.database, clock)
    sampler.setSession(streamId, sessionId, 0)
    clock.advance(SECOND)
    sampler.observe(report(1_000_000, 1))
    sampler.endAll()
    await app.database.run('alter table stream_samples rename to stream_samples_away')
    await expect(sampler.write()).rejects.toThrow(/stream_samples/)
    await app.database.run('alter table stream_samples_away rename to stream_samples')
    await sampler.write()
    expect((await series()).publisherSeconds).toBe(15)
    sampler.setSession(streamId, sessionId, 0)
    clock.advance(SECOND)
    sampler.observe(report(1_000_000, 1))
    sampler.endAll()
    const apiKey = world.key('ada')
    expect((await app.send('DELETE /api/streams/{id}', { apiKey, path: { id: streamId } })).status).toBe(200)
    await sampler.write()
    const path = { id: streamId, sessionId }
    expect((await app.send('GET /api/streams/{id}/sessions/{sessionId}/series', { apiKey, path })).status).toBe(404)
  })
})
