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
  generation = 'first'

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

  /** A page, or a snapshot for a client that is far behind, ahead or of another generation. */
  after(after: number, known = this.generation): Page {
    const top = this.changes.length
    const { generation } = this
    if (after > top || top - after > 40 || known !== generation) {
      const { messages, pins, seq } = this.state
      const snapshot = { channel, seq, messages: [...messages], pins: [...pins] }
      return { changes: [], snapshot, generation, hasMore: false }
    }
    const changes = this.changes.slice(after, after + 7)
    return { changes, snapshot: null, generation, hasMore: after + changes.length < top }
  }

  /** A standby takes over that lacks the newest changes. */
  promoted(lost: number): Log {
    const other = new Log()
    other.generation = 'second'
    other.changes.push(...this.changes.slice(0, -lost))
    for (const change of other.changes) other.state = applyChange(other.state, change)
    return other
  }
}

interface Page {
  readonly changes: ChangeData[]
  readonly snapshot: SnapshotData | null
  readonly generation: string
  readonly hasMore: boolean
}

let said = 0

function message(seq: number): MessageData {
  said += 1
  return {
    _id: `m${seq}`,
    seq,
    body: `said as number ${said} at ${seq}`,
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
    const { generation, seq } = replica.state
    const page = log.after(seq, generation)
    replica.take(page, seq)
    const isOther = generation !== undefined && generation !== page.generation
    if ((!page.hasMore && !isOther) || asked > 1_000) return asked
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
  const late = { changes: [], generation: log.generation, snapshot: log.after(0).snapshot as SnapshotData }
  log.add('message', 0)
  for (const change of log.changes.slice(48)) replica.receive(change)
  expect(replica.take(late, 48)).toEqual([])
  expect(stateHash(replica.state)).toBe(stateHash(log.state))
})

test('after a promotion a client has exactly the changes of the new server, whatever it has received in between', () => {
  const counts = { min: 1, max: 30 }
  const cases = fc.record({
    before: fc.integer(counts),
    lost: fc.integer(counts),
    early: fc.integer({ min: 0, max: 5 }),
    after: fc.integer({ min: 0, max: 70 }),
    live: fc.infiniteStream(fc.boolean()),
  })
  fc.assert(
    fc.property(cases, ({ after, before, early, live, lost }) => {
      const old = new Log()
      for (let count = 0; count < before + lost; count += 1) old.add('message', count)
      const replica = new ChannelReplica({ ...EMPTY, channel })
      catchUp(replica, old)
      // The last changes of the old server arrive out of order, and some never.
      old.add('message', 0)
      for (let count = 0; count < early; count += 1) {
        old.add('message', 0)
        replica.receive(old.changes.at(-1) as ChangeData)
      }
      const log = old.promoted(lost + early + 1)
      const hear = () => {
        log.add('message', 0)
        if (live.next().value === true) replica.receive(log.changes.at(-1) as ChangeData)
      }
      for (let count = 0; count < after; count += 1) hear()
      // The reply arrives after changes that it does not contain.
      const { generation, seq } = replica.state
      const page = log.after(seq, generation)
      hear()
      replica.take(page, seq)
      expect(catchUp(replica, log)).toBe(1)
      expect(stateHash(replica.state)).toBe(stateHash(log.state))
      expect(replica.hasGap).toBe(false)
    }),
    { numRuns: 400 },
  )
})
