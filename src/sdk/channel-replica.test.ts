import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyChange, EMPTY, stateHash, type ChannelState } from '../domains/talk/chat/state.ts'
import type { ChangeData, ChannelData, MessageData, SnapshotData } from '../domains/talk/chat/schemas.ts'
import { ChannelReplica } from './channel-replica.ts'

const at = '2026-11-21T05:00:00.000Z'
const channelId = 'c'
const channel = { _id: channelId, memberIds: [] as string[] } as unknown as ChannelData

/** The server's side of a channel: all changes in order, and the reply of `sync`. */
class Log {
  readonly changes: ChangeData[] = []
  state: ChannelState = { ...EMPTY, channel }

  add(kind: 'message' | 'edit' | 'delete' | 'react', pick: number): void {
    const seq = this.changes.length + 1
    const target = this.state.messages[pick % Math.max(1, this.state.messages.length)]
    const type = target === undefined ? 'message' : kind
    const messageId = target?._id ?? ''
    const data = {
      message: { message: message(seq) },
      edit: { messageId, body: `edited at ${seq}`, mentions: { userIds: [], everyone: false }, edits: seq },
      delete: { messageId, replyTo: null },
      react: { messageId, emoji: '👍' },
    }[type]
    const change = { workspaceId: 'w', channelId, seq, type, at, actorId: `user ${seq}`, data } as ChangeData
    this.changes.push(change)
    this.state = applyChange(this.state, change)
  }

  /** A page, or a snapshot for a client that is far behind or ahead. */
  after(after: number): { changes: ChangeData[]; snapshot: SnapshotData | null; hasMore: boolean } {
    const top = this.changes.length
    if (after > top || top - after > 40) {
      const { messages, pins, seq } = this.state
      return { changes: [], snapshot: { channel, seq, messages: [...messages], pins: [...pins] }, hasMore: false }
    }
    const changes = this.changes.slice(after, after + 7)
    return { changes, snapshot: null, hasMore: after + changes.length < top }
  }
}

function message(seq: number): MessageData {
  return {
    _id: `m${seq}`,
    seq,
    body: `said at ${seq}`,
    clientId: null,
    replyTo: null,
    thread: { replyCount: 0, lastReplySeq: null, lastReplyAt: null },
    reactions: [],
  } as unknown as MessageData
}

/**
 * Calls `sync` until there is no more, as the client does.
 * @returns the number of calls
 */
function catchUp(replica: ChannelReplica, log: Log): number {
  for (let asked = 1; ; asked += 1) {
    const { seq } = replica.state
    const page = log.after(seq)
    replica.take(page, seq)
    if (!page.hasMore || asked > 1_000) return asked
  }
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom('message', 'edit', 'delete', 'react'), pick: fc.nat(50) }),
  },
  { weight: 2, arbitrary: fc.constant('ask' as const) },
)

test('lost, duplicated and reordered changes always lead to the server’s state, which never goes back', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), fc.infiniteStream(fc.nat(9)), (steps, luck) => {
      const log = new Log()
      const replica = new ChannelReplica({ ...EMPTY, channel })
      const onTheWay: ChangeData[] = []
      let reached = 0
      const receive = (change: ChangeData) => {
        for (const { seq } of replica.receive(change)) {
          expect(seq).toBe(reached + 1)
          reached = seq
        }
      }
      for (const one of steps) {
        if (one === 'ask') {
          catchUp(replica, log)
          expect(replica.state.seq).toBeGreaterThanOrEqual(reached)
          reached = replica.state.seq
          continue
        }
        log.add(one.kind, one.pick)
        const change = log.changes.at(-1) as ChangeData
        const fate = luck.next().value as number
        // One in ten is lost, one is delayed, one is duplicated.
        if (fate === 0) continue
        if (fate === 1) onTheWay.push(change)
        else receive(change)
        if (fate === 2) receive(change)
        if (fate === 3) for (const late of onTheWay.splice(0).toReversed()) receive(late)
      }
      for (const late of onTheWay) receive(late)
      catchUp(replica, log)
      expect(stateHash(replica.state)).toBe(stateHash(log.state))
      expect(replica.hasGap).toBe(false)
    }),
    { numRuns: 400 },
  )
})

test('one snapshot corrects a client that is ahead of the server', () => {
  const log = new Log()
  for (let count = 0; count < 30; count += 1) log.add('message', 0)
  const replica = new ChannelReplica({ ...EMPTY, channel })
  catchUp(replica, log)
  const restored = new Log()
  for (let count = 0; count < 10; count += 1) restored.add('message', 0)
  replica.receive({ ...(log.changes[29] as ChangeData), seq: 32 })
  expect(catchUp(replica, restored)).toBe(1)
  expect(catchUp(replica, restored)).toBe(1)
  expect(stateHash(replica.state)).toBe(stateHash(restored.state))
  expect(replica.hasGap).toBe(false)
  restored.add('edit', 3)
  replica.receive(restored.changes.at(-1) as ChangeData)
  expect(stateHash(replica.state)).toBe(stateHash(restored.state))
})

test('a snapshot does not undo live changes that are newer', () => {
  const log = new Log()
  for (let count = 0; count < 50; count += 1) log.add('message', 0)
  const replica = new ChannelReplica({ ...log.state, seq: 48, messages: log.state.messages.slice(0, 48) })
  const late = { changes: [], snapshot: log.after(0).snapshot as SnapshotData }
  log.add('message', 0)
  for (const change of log.changes.slice(48)) replica.receive(change)
  expect(replica.take(late, 48)).toEqual([])
  expect(stateHash(replica.state)).toBe(stateHash(log.state))
})
