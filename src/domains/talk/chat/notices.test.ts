import { expect, test } from 'vitest'
import { fakeTurn } from '../../../../test/support/fake-turn.ts'
import { ManualClock, SECOND } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { notifyOfMessage } from './notices.ts'
import { chatDirectMessage, chatMentioned } from './notifications.ts'
import type { ChannelData, MessageData } from './schemas.ts'

const clock = new ManualClock()
const general = { _id: 'c1', kind: 'channel', name: 'general', private: false, memberIds: [] } as unknown as ChannelData
const hidden = { ...general, private: true, memberIds: ['ada', 'bob', 'cyd'] }
const dm: ChannelData = { ...hidden, kind: 'dm', name: null }

/** The users that a message from Ada notifies, and why. */
async function noticesOf(channel: ChannelData, mentions: Partial<MessageData['mentions']>, body = 'Hello') {
  const everybody = async () => ['ada', 'bob', 'cyd', 'dan'].map((userId) => ({ userId }))
  const { done, turn } = fakeTurn({ rows: everybody as unknown as Sql['rows'] })
  const message = { author: 'ada', body, seq: 7, mentions: { userIds: [], everyone: false, ...mentions } }
  await notifyOfMessage(turn, clock, channel, message as unknown as MessageData)
  return done.jobs.map(({ data, runAt }) => ({ ...(data as { type: string; userIds: string[]; data: object }), runAt }))
}

test('a message in a channel notifies the members that it mentions', async () => {
  expect(await noticesOf(general, {})).toEqual([])
  expect(await noticesOf(general, { userIds: ['bob', 'ada'] })).toEqual([
    {
      type: 'chat.mentioned',
      userIds: ['bob'],
      actorId: 'ada',
      data: { channelId: 'c1', channel: '#general', seq: 7, message: 'Hello' },
      // A client that shows the message can report it as read before that.
      runAt: new Date(clock.now() + 3 * SECOND),
    },
  ])
})

test('a mention of a channel notifies all who can see it', async () => {
  expect(await noticesOf(general, { everyone: true })).toMatchObject([{ userIds: ['bob', 'cyd', 'dan'] }])
  expect(await noticesOf(hidden, { everyone: true })).toMatchObject([{ userIds: ['bob', 'cyd'] }])
  expect(await noticesOf(hidden, { userIds: ['cyd'] })).toMatchObject([{ userIds: ['cyd'] }])
})

test('a direct message notifies everybody else in the conversation once, whomever it mentions', async () => {
  const notice = { type: 'chat.directMessage', userIds: ['bob', 'cyd'], data: { channel: '' } }
  expect(await noticesOf(dm, {})).toMatchObject([notice])
  expect(await noticesOf(dm, { userIds: ['cyd'] })).toMatchObject([notice])
  expect(await noticesOf(dm, { everyone: true })).toMatchObject([notice])
})

test('the text of a notice has no ids of users', async () => {
  const body = '<@01939c5e-7a3b-7c21-9f58-000000000001> and <!channel>: <b>now</b>'
  expect(await noticesOf(dm, {}, body)).toMatchObject([{ data: { message: '… and …: <b>now</b>' } }])
})

test.each([chatMentioned, chatDirectMessage])(
  '$name is not sent for a message that was read, or is muted',
  async (type) => {
    const isSeen = (read: { seq: number; muted: boolean } | undefined) =>
      type.isSeen?.({ rows: async () => (read ? [read] : []) } as unknown as Sql, 'bob', { ...type.example, seq: 7 })
    expect(await isSeen(undefined)).toBe(false)
    expect(await isSeen({ seq: 6, muted: false })).toBe(false)
    expect(await isSeen({ seq: 7, muted: false })).toBe(true)
    expect(await isSeen({ seq: 8, muted: false })).toBe(true)
    expect(await isSeen({ seq: 0, muted: true })).toBe(true)
    expect(type.urgent).toBe(true)
  },
)
