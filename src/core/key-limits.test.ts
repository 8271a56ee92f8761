import { expect, test } from 'vitest'
import type { Caller, Member } from './caller.ts'
import { isLimited, withinKey } from './key-limits.ts'

const member: Member = {
  workspaceId: 'w1',
  userId: 'ada',
  role: 'owner',
  scopes: new Set(['team:read', 'chat:read']),
  joinedAt: '2026-01-01T00:00:00.000Z',
}

type Key = NonNullable<Caller['apiKey']>
const key = (limits: Partial<Key> = {}): { apiKey: Key } => ({
  apiKey: { id: 'k1', scopes: null, workspaceIds: null, ...limits },
})

test('a key with its own scopes or workspaces is limited', () => {
  expect(isLimited({})).toBe(false)
  expect(isLimited(key())).toBe(false)
  expect(isLimited(key({ scopes: new Set(['team:read']) }))).toBe(true)
  expect(isLimited(key({ workspaceIds: new Set(['w1']) }))).toBe(true)
})

test('a membership is unchanged without a key, with a key without limits, and without a caller', () => {
  for (const caller of [undefined, {}, key(), key({ workspaceIds: new Set(['w1']) })]) {
    expect(withinKey(member, caller)).toBe(member)
  }
  expect(withinKey(undefined, key())).toBeUndefined()
})

test('a key for other workspaces hides the membership, and one with scopes limits it', () => {
  expect(withinKey(member, key({ workspaceIds: new Set(['w2']) }))).toBeUndefined()
  const limited = withinKey(member, key({ scopes: new Set(['chat:read', 'media:read']) }))
  expect(limited).toEqual({ ...member, scopes: new Set(['chat:read']), key: 'limited' })
})

test('a membership that requires a second factor has no scopes without one', () => {
  const strict: Member = { ...member, secondFactor: 'required' }
  const without = { ...member, scopes: new Set(), secondFactor: 'missing' }
  expect(withinKey(strict, {})).toEqual(without)
  expect(withinKey(strict, { secondFactor: false })).toEqual(without)
  expect(withinKey(strict, { ...key({ scopes: new Set(['chat:read']) }), secondFactor: false })).toEqual(without)
  expect(withinKey(strict, { secondFactor: true })).toBe(strict)
})
