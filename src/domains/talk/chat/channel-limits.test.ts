import { expect, test } from 'vitest'
import { fakeTurn } from '../../../../test/support/fake-turn.ts'
import type { Caller, Member } from '../../../core/caller.ts'
import { ManualClock } from '../../../core/clock.ts'
import type { Sql, SqlValue } from '../../../core/sql.ts'
import { CachedChannel, CHANNEL_CACHE } from './channel-cache.ts'
import { ChannelMembers } from './channel-members.ts'
import type { ChannelMemberships } from './channel-memberships.ts'
import { ReactionsAndPins } from './reactions-and-pins.ts'
import type { ChannelData, MessageData } from './schemas.ts'

const clock = new ManualClock()
const ada = { userId: 'ada' } as Caller
const place = { channelId: 'c1', messageId: 'm1' }
const names = (count: number) => Array.from({ length: count }, (_, index) => `u${String(index).padStart(3, '0')}`)

/** A turn whose actor has a private channel in memory, with these other members. */
function turnIn(members: readonly string[], sql: Partial<Sql> = {}) {
  const fake = fakeTurn(sql)
  const channel = { _id: 'c1', kind: 'channel', private: true, createdBy: 'ada', archivedAt: null }
  const cached = new CachedChannel({ ...channel, memberIds: ['ada', ...members] } as unknown as ChannelData, 5)
  fake.turn.memory(CHANNEL_CACHE).add(cached)
  return { ...fake, cached }
}

test('a private channel has at most 500 members', async () => {
  let changes = 0
  const members = new ChannelMembers(clock, { changed: () => void (changes += 1) } as unknown as ChannelMemberships)
  // All users are members of the workspace.
  const sql = {
    rows: async (_: string, values: readonly SqlValue[]) =>
      (values.find((value) => Array.isArray(value)) as string[]).map((userId) => ({ userId })),
  } as Partial<Sql>
  const { cached, done, succeed, turn } = turnIn(names(498), sql)
  await expect(members.add(turn, ada, 'c1', ['x', 'y'])).rejects.toMatchObject({ code: 'conflict' })
  expect([done.inserted, changes]).toEqual([[], 0])
  // Existing members do not count again.
  const { memberIds } = await members.add(turn, ada, 'c1', ['x', 'u001'])
  expect(memberIds).toEqual(['ada', ...names(498), 'x'])
  expect(done.inserted).toMatchObject([
    { table: 'channel_members', row: { userId: 'x' } },
    { table: 'chat_log', row: { seq: 6, type: 'members', data: { added: ['x'], removed: [] } } },
  ])
  expect(done.emitted.map(({ name, only }) => [name, only])).toEqual([
    ['chat.change', { channel: 'c1' }],
    ['channel.updated', { channel: 'c1' }],
    ['channel.created', { user: 'x' }],
  ])
  expect(changes).toBe(1)
  succeed()
  expect([cached.seq, cached.channel.memberIds.length]).toEqual([6, 500])
})

test('members who are added again change nothing', async () => {
  const members = new ChannelMembers(clock, {} as ChannelMemberships)
  const { cached, done, turn } = turnIn(['bob'], { rows: async () => [{ userId: 'bob' }] as never })
  expect(await members.add(turn, ada, 'c1', ['bob'])).toBe(cached.channel)
  expect(done).toEqual({ inserted: [], emitted: [], jobs: [], audited: [] })
})

test('the creator of a channel and members with team:manage remove others', async () => {
  const members = new ChannelMembers(clock, { changed: () => undefined } as unknown as ChannelMemberships)
  const remove = (by: string, userId: string, scopes: readonly string[] = []) => {
    const { done, turn } = turnIn(['bob', 'cyd'])
    const member = { scopes: new Set(scopes) } as unknown as Member
    return members.remove(turn, { userId: by } as Caller, member, 'c1', userId).then(
      () => done.emitted.map(({ name, only }) => [name, only]),
      (error: { code: string }) => error.code,
    )
  }
  const removed = [
    ['chat.change', { channel: 'c1' }],
    ['channel.left', { user: 'cyd' }],
    ['channel.updated', { channel: 'c1' }],
  ]
  expect(await remove('ada', 'cyd')).toEqual(removed)
  expect(await remove('bob', 'cyd', ['team:manage'])).toEqual(removed)
  expect(await remove('cyd', 'cyd')).toEqual(removed)
  expect(await remove('bob', 'cyd', ['team:read'])).toBe('forbidden')
  expect(await remove('bob', 'dan', ['team:manage'])).toBe('not_found')
})

/** Reactions of a message: `count` of its first emoji, and one of each other. */
const reactions = (count: number, others = '') => [
  { emoji: '👍', userIds: names(count) },
  ...Array.from(others, (emoji) => ({ emoji, userIds: ['u000'] })),
]

test.each<[what: string, held: MessageData['reactions'], emoji: string, isFull: boolean]>([
  ['499 reactions', reactions(499), '👍', false],
  ['500 reactions', reactions(500), '👍', true],
  ['19 different emoji', reactions(1, '😀😁😂🤣😃😄😅😆😉😊😋😎😍😘🥰😗😙😚'), '🎉', false],
  ['20 different emoji', reactions(1, '😀😁😂🤣😃😄😅😆😉😊😋😎😍😘🥰😗😙😚🙂'), '🎉', true],
])('a message with %s', async (_what, held, emoji, isFull) => {
  const { done, turn } = turnIn([], { row: async () => ({ deletedAt: null, reactions: held }) as never })
  const reacted = new ReactionsAndPins(clock).react(turn, ada, place, emoji)
  if (isFull) {
    await expect(reacted).rejects.toMatchObject({ code: 'conflict' })
    expect(done.inserted).toEqual([])
  } else {
    expect((await reacted).reactions.flatMap(({ userIds }) => userIds)).toContain('ada')
    expect(done.inserted).toMatchObject([{ table: 'chat_log' }, { table: 'chat_reactions', row: { emoji, seq: 6 } }])
  }
})

test('a reaction, pin or unpin without an effect does not change the channel', async () => {
  const row = { deletedAt: null, pinnedAt: '2026-11-01T12:00:00.000Z', reactions: [{ emoji: '👍', userIds: ['ada'] }] }
  const { done, turn } = turnIn([], { row: async () => ({ ...row }) as never })
  const marks = new ReactionsAndPins(clock)
  const before = await marks.pin(turn, ada, place, true)
  expect(await marks.react(turn, ada, place, '👍')).toEqual(before)
  expect(await marks.unreact(turn, ada, place, '🎉')).toEqual(before)
  expect(done).toEqual({ inserted: [], emitted: [], jobs: [], audited: [] })
  const unpinned = turnIn([], { row: async () => ({ ...row, pinnedAt: null }) as never })
  await marks.pin(unpinned.turn, ada, place, false)
  expect(unpinned.done.inserted).toEqual([])
})
