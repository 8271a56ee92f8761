import { expect, test } from 'vitest'
import { event } from './event.ts'
import { Type } from './schema.ts'
import { eventInWords } from './socket-protocol.ts'

const declared = { summary: 'A test', scope: 'chat:read', data: Type.Object({}), example: {} } as const

test('documentation says which events have a number and can be read later', () => {
  expect(eventInWords(event({ name: 'tests.stored', ...declared }))).toContain('It has a sequence number')
  const live = eventInWords(event({ name: 'tests.live', stored: false, ...declared }))
  expect(live).toContain('It is not stored and has no sequence number')
  expect(live).toContain('Sent to members with `chat:read`')
})
