import { expect, test } from 'vitest'
import { fakeTurn } from '../../../../test/support/fake-turn.ts'
import { ManualClock } from '../../../core/clock.ts'
import type { Sql, SqlValue } from '../../../core/sql.ts'
import type { ChatAttachments } from './attachments.ts'
import { CHANNEL_CACHE, resendKey } from './channel-cache.ts'
import type { MessageRateLimit } from './message-rate-limit.ts'
import { Messages } from './messages.ts'

type Request = Parameters<Messages['prepare']>[0][number]

const request = (channelId: string, userId: string, clientId?: string) =>
  ({ path: { channelId }, caller: { userId }, body: { body: 'Hello', clientId } }) as unknown as Request

/** The memory of a workspace with the channels c1 and c2, in which Ada has sent `old` to c1. */
function start() {
  const asked: unknown[] = []
  const rows = async (_: string, [first, second]: readonly SqlValue[]) => {
    if (typeof first === 'string' && first.startsWith('[')) {
      const keys = JSON.parse(first) as { channel_id: string; author_id: string; client_id: string }[]
      asked.push(keys.map((key) => [key.channel_id, key.author_id, key.client_id].join(' ')))
      const isSent = keys.some(({ client_id }) => client_id === 'old')
      return isSent ? [{ id: 'm1', channelId: 'c1', authorId: 'ada', clientId: 'old' }] : []
    }
    const ids = second as string[]
    asked.push(ids)
    return ids.filter((id) => id !== 'gone').map((id) => ({ id, seq: 3, memberIds: [] }))
  }
  const { turn } = fakeTurn({ rows } as unknown as Partial<Sql>)
  const messages = new Messages(new ManualClock(), {} as MessageRateLimit, {} as ChatAttachments)
  const prepare = async (...requests: Request[]) => {
    await messages.prepare(requests, turn)
    return asked.splice(0)
  }
  return { cache: turn.memory(CHANNEL_CACHE), prepare }
}

test('a batch reads its channels and the messages that may be sent again, with one statement each', async () => {
  const { cache, prepare } = start()
  const first = [request('c1', 'ada', 'old'), request('c1', 'bob'), request('c2', 'bob', 'new'), request('c1', 'ada')]
  expect(await prepare(...first)).toEqual([
    ['c1', 'c2'],
    ['c1 ada old', 'c2 bob new'],
  ])
  expect([...cache.unsent]).toEqual(['c2/bob/new'])
  expect(cache.get('c1')?.recent(resendKey('ada', 'old'))).toMatchObject({ _id: 'm1' })
  expect(cache.get('c2')?.seq).toBe(3)
})

test('a batch reads only what is not in memory', async () => {
  const { cache, prepare } = start()
  await prepare(request('c1', 'ada', 'old'), request('c1', 'bob', 'new'))
  expect(await prepare(request('c1', 'ada', 'old'), request('c1', 'bob'))).toEqual([])
  expect([...cache.unsent]).toEqual([])
  expect(await prepare(request('c1', 'ada', 'next'))).toEqual([['c1 ada next']])
})

test('a channel that does not exist has no messages to look up', async () => {
  const { cache, prepare } = start()
  expect(await prepare(request('gone', 'ada', 'old'))).toEqual([['gone']])
  expect([cache.get('gone'), cache.unsent.size]).toEqual([undefined, 0])
})
