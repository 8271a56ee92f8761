import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../../../test/support/postgres.ts'
import { ManualClock } from '../../../../core/clock.ts'
import { createLog } from '../../../../core/log.ts'
import { Database } from '../../../../db/database.ts'
import { entities } from '../../../../registry/entities.ts'
import { SamplePartitions } from './partitions.ts'

let created: TestDatabase
let database: Database
beforeAll(async () => {
  created = await createDatabase()
  const log = createLog({ level: 'silent' })
  database = await Database.connect({ url: created.url, poolSize: 2, entities, log })
})
afterAll(async () => {
  await database.close()
  await created.drop()
})

test('makes a month again that the database has lost', async () => {
  const at = Date.parse('2027-03-10T00:00:00Z')
  const partitions = new SamplePartitions(new ManualClock(at))
  const prepare = () => database.transaction((tx) => partitions.prepare(tx))
  const exists = async () =>
    (await database.row<{ found: boolean }>(`select to_regclass('analytics_samples_2027_06') is not null as found`))
      ?.found
  await prepare()
  expect(await exists()).toBe(true)
  await database.run('drop table analytics_samples_2027_06')
  partitions.forget()
  await prepare()
  expect(await exists()).toBe(true)
})
