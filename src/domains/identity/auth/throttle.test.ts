import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../../test/support/postgres.ts'
import { HOUR, ManualClock, MINUTE } from '../../../core/clock.ts'
import { createLog } from '../../../core/log.ts'
import { Database } from '../../../db/database.ts'
import { entities } from '../../../registry/entities.ts'
import { AttemptThrottle } from './throttle.ts'

let made: TestDatabase
let database: Database

beforeAll(async () => {
  made = await createDatabase()
  database = await Database.connect({ url: made.url, poolSize: 2, entities, log: createLog({ level: 'silent' }) })
})
afterAll(async () => {
  await database?.close()
  await made?.drop()
})

/** A throttle after so many failures at an address, and how to fail once more. */
async function after(failures: number, email: string) {
  const clock = new ManualClock()
  const throttle = new AttemptThrottle(database, clock, 'a secret of these tests, long enough')
  const fail = () => throttle.begin('password', email, 'anybody')
  for (let failure = 1; failure <= failures; failure += 1) await fail()
  return { clock, fail, throttle }
}

test('failures count for an hour after the last one, to the millisecond', async () => {
  const counted = await after(5, 'counted@example.com')
  counted.clock.advance(HOUR)
  await counted.fail()
  // The sixth in a row: the address is locked for two seconds.
  await expect(counted.fail()).rejects.toMatchObject({ code: 'too_many_attempts', retryAfter: 2 })

  const forgotten = await after(5, 'forgotten@example.com')
  forgotten.clock.advance(HOUR + 1)
  // The first of a new count: four cost nothing, the fifth locks.
  for (let failure = 1; failure <= 5; failure += 1) await forgotten.fail()
  await expect(forgotten.fail()).rejects.toMatchObject({ code: 'too_many_attempts', retryAfter: 1 })
})

test('the sweep deletes expired counts only', async () => {
  await database.run('delete from login_throttles')
  const { clock, throttle } = await after(1, 'swept@example.com')
  const rows = async () => (await database.rows('select 1 from login_throttles')).length
  clock.advance(HOUR + MINUTE)
  await throttle.sweep()
  expect(await rows()).toBe(1)
  clock.advance(1)
  await throttle.sweep()
  expect(await rows()).toBe(0)
})
