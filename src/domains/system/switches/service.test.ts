import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../../test/support/postgres.ts'
import { waitFor } from '../../../../test/support/wait.ts'
import { InProcessCoordination } from '../../../coordination/in-process.ts'
import { systemClock } from '../../../core/clock.ts'
import { createLog } from '../../../core/log.ts'
import type { ServiceStatus } from '../../../core/service-switch.ts'
import { Database } from '../../../db/database.ts'
import { entities } from '../../../registry/entities.ts'
import { ServiceSwitches } from './service.ts'

const log = createLog({ level: 'silent' })
const KEYS = ['auth', 'chat', 'health', 'posts', 'services']
let created: TestDatabase
let database: Database
const nodes: ServiceSwitches[] = []

beforeAll(async () => {
  created = await createDatabase()
  database = await Database.connect({ url: created.url, poolSize: 3, entities, log })
})
afterAll(async () => {
  for (const node of nodes) node.close()
  await database.close()
  await created.drop()
})

/** A node that gets no notices of others. */
function start() {
  const coordination = new InProcessCoordination(log)
  const switches = new ServiceSwitches({ clock: systemClock, coordination, database, log }, KEYS)
  const heard: Pick<ServiceStatus, 'key' | 'enabled'>[] = []
  switches.onChange(({ key, enabled }) => void heard.push({ key, enabled }))
  nodes.push(switches)
  return { switches, heard }
}

test('a node that missed the notice applies a change, and tells its listeners once', async () => {
  const [one, other] = [start(), start()]
  await one.switches.toggle('chat', false)
  expect(one.switches.isOn('chat')).toBe(false)
  await waitFor(() => !other.switches.isOn('chat'))
  await one.switches.toggle('chat', false)
  await one.switches.toggle('chat', undefined)
  await waitFor(() => other.switches.isOn('chat'))
  const expected = [
    { key: 'chat', enabled: false },
    { key: 'chat', enabled: true },
  ]
  expect([one.heard, other.heard]).toEqual([expected, expected])
})

test('a node that starts while a service is off knows it', async () => {
  await start().switches.toggle('posts', false)
  const { switches } = start()
  await switches.refresh()
  expect(switches.isOn('posts')).toBe(false)
  expect(switches.off()).toMatchObject([{ key: 'posts', enabled: false, status: 'disabled' }])
})

test('a service is on when another database takes over that does not know it is off', async () => {
  const { heard, switches } = start()
  await switches.toggle('chat', false)
  await database.run(`delete from service_switches where key = 'chat'`)
  await switches.refresh()
  expect(switches.isOn('chat')).toBe(true)
  expect(heard.filter(({ key }) => key === 'chat').at(-1)).toEqual({ key: 'chat', enabled: true })
})

test.each(['auth', 'services', 'health'])('%s cannot be switched off', async (key) => {
  const { switches } = start()
  await expect(switches.toggle(key, false)).rejects.toMatchObject({ code: 'conflict' })
  await expect(switches.toggle(key, undefined)).rejects.toMatchObject({ code: 'conflict' })
  expect(switches.isOn(key)).toBe(true)
})

test('reads that overlap leave the newest values', async () => {
  const { switches } = start()
  await Promise.all([switches.refresh(), switches.toggle('chat', false), switches.refresh(), switches.refresh()])
  expect(switches.isOn('chat')).toBe(false)
  await switches.toggle('chat', true)
  expect(switches.isOn('chat')).toBe(true)
})
