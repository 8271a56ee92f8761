import { expect, test } from 'vitest'
import type { Member } from './caller.ts'
import { contextFactory, type RequestData } from './context.ts'
import type { Services } from './services.ts'
import type { Turn } from './turn.ts'

const given = {
  path: { id: '1' },
  query: { limit: 2 },
  body: { text: 'x' },
  caller: { userId: 'ada' },
  requestId: 'r1',
  userAgent: 'a test',
  ifMatch: { versions: [3] },
  upload: { name: 'a.png' },
  bearer: 'token',
  cookie: 'session',
  signature: 'signed',
  worker: { name: 'worker' },
  prepared: { ready: true },
  remoteAddress: '192.0.2.7',
}
const member = { role: 'owner' } as Member
const data = { ...given, member } as unknown as RequestData

test('a handler gets everything of its request, its turn, and the services', () => {
  const services = { notes: { list: () => ['one'] } }
  const context = contextFactory(services as unknown as Services)
  const turn = { workspaceId: 'w1' } as Turn
  const seen = context(data, turn) as unknown as typeof given & typeof services & { turn: Turn; member: Member }
  for (const name of Object.keys(given) as (keyof typeof given)[])
    expect([name, seen[name]]).toEqual([name, given[name]])
  expect([seen.turn, seen.member]).toEqual([turn, member])
  expect(seen.notes.list()).toEqual(['one'])
})

test('a turn can replace the member that the pipeline has found', () => {
  const now = { role: 'editor' } as Member
  expect(contextFactory({} as Services)(data, undefined, now).member).toBe(now)
})
