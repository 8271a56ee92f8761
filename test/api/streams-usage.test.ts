import { afterAll, beforeAll, expect, test } from 'vitest'
import { ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/core/id.ts'
import { UsageMeter, type Metering } from '../../src/domains/live/media-link/usage-meter.ts'
import { startApp, type App } from '../support/app.ts'

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
