import { describe, expect, test } from 'vitest'
import type { ChangeData, ChannelData, MessageData } from './schemas.ts'
import {
  applyChange,
  EMPTY,
  ERASED,
  fromSnapshot,
  stateHash,
  WINDOW,
  withoutReaction,
  withReaction,
  type ChannelState,
} from './state.ts'

const AT = '2026-11-01T12:00:00.000Z'
const LATER = '2026-11-01T13:00:00.000Z'
const channel = { _id: 'c', name: 'news', memberIds: ['b', 'd'] } as unknown as ChannelData

const message = (seq: number, changes: Partial<MessageData> = {}) =>
  ({
    _id: `m${seq}`,
    seq,
    author: 'ada',
    body: `message ${seq}`,
    replyTo: null,
    thread: { replyCount: 0, lastReplySeq: null, lastReplyAt: null },
    attachments: [],
    mentions: { userIds: [], everyone: false },
    reactions: [],
    edits: 0,
    editedAt: null,
    pinnedAt: null,
    pinnedBy: null,
    deletedAt: null,
    updatedAt: AT,
    ...changes,
  }) as MessageData

const change = (seq: number, type: ChangeData['type'], data: object) =>
  ({ seq, type, at: LATER, actorId: 'bob', data }) as unknown as ChangeData

/** A state with messages, after this number of changes. */
const stateOf = (messages: readonly MessageData[], more: Partial<ChannelState> = {}): ChannelState => ({
  seq: 10,
  channel,
  messages,
  pins: [],
  ...more,
})
const apply = (state: ChannelState, type: ChangeData['type'], data: object) =>
  applyChange(state, change(11, type, data))

describe('the order of changes', () => {
  test('has no gaps, and a change that was applied before has no effect', () => {
    const state = stateOf([])
    for (const seq of [9, 10]) expect(applyChange(state, change(seq, 'channel', { channel: null }))).toBe(state)
    expect(applyChange(state, change(11, 'channel', { channel })).seq).toBe(11)
    expect(() => applyChange(state, change(12, 'channel', { channel }))).toThrow(
      expect.objectContaining({ name: 'GapError', expected: 11, found: 12 }),
    )
  })

  test('starts with a snapshot; the newest messages are kept and the pins are sorted', () => {
    const messages = Array.from({ length: WINDOW + 5 }, (_, index) => message(index))
    const state = fromSnapshot({ channel, seq: 200, messages, pins: ['m9', 'm10'] })
    expect([state.seq, state.messages.length, state.messages[0]?.seq, state.pins]).toEqual([200, 100, 5, ['m10', 'm9']])
  })
})

describe('a change', () => {
  test('of members adds, removes and sorts members if the channel is known', () => {
    const added = apply(stateOf([]), 'members', { added: ['c', 'a', 'b'], removed: ['d'] })
    expect(added.channel?.memberIds).toEqual(['a', 'b', 'c'])
    expect(apply(EMPTY_AT_10, 'members', { added: ['c'], removed: [] })).toEqual({ ...EMPTY_AT_10, seq: 11 })
  })

  test('with a message increases the count of its thread, and the newest hundred messages are kept', () => {
    const root = message(1)
    const reply = message(11, { replyTo: 'm1' })
    const { messages } = apply(stateOf([root]), 'message', { message: reply })
    expect(messages).toEqual([{ ...root, thread: { replyCount: 1, lastReplySeq: 11, lastReplyAt: LATER } }, reply])
    const full = stateOf(Array.from({ length: WINDOW }, (_, index) => message(index)))
    const next = apply(full, 'message', { message: message(200) })
    expect([next.messages.length, next.messages[0]?.seq, next.messages.at(-1)?.seq]).toEqual([WINDOW, 1, 200])
  })

  test('of a text keeps all other fields, and has no effect on a message that the state does not have', () => {
    const mentions = { userIds: ['x'], everyone: false }
    const edit = { body: 'new', mentions, edits: 1 }
    const state = stateOf([message(1), message(2)])
    expect(apply(state, 'edit', { messageId: 'm2', ...edit }).messages).toEqual([
      message(1),
      { ...message(2), ...edit, editedAt: LATER, updatedAt: LATER },
    ])
    expect(apply(state, 'edit', { messageId: 'm3', ...edit })).toEqual({ ...state, seq: 11 })
  })

  test('that deletes a message erases its content, its pin and its place in the thread', () => {
    const root = message(1, { thread: { replyCount: 2, lastReplySeq: 5, lastReplyAt: AT } })
    const reply = message(2, { replyTo: 'm1', body: 'secret', pinnedAt: AT, pinnedBy: 'ada' })
    const state = stateOf([root, reply], { pins: ['m1', 'm2'] })
    const next = apply(state, 'delete', { messageId: 'm2', replyTo: 'm1' })
    expect(next.messages).toEqual([
      { ...root, thread: { ...root.thread, replyCount: 1 } },
      { ...reply, ...ERASED, deletedAt: LATER, updatedAt: LATER },
    ])
    expect(next.pins).toEqual(['m1'])
  })

  test('pins a message once, and unpins it', () => {
    const state = stateOf([message(1), message(2)], { pins: ['m2', 'm3'] })
    const pinned = apply(state, 'pin', { messageId: 'm1' })
    expect([pinned.pins, pinned.messages[0]]).toEqual([
      ['m1', 'm2', 'm3'],
      { ...message(1), pinnedAt: LATER, pinnedBy: 'bob' },
    ])
    expect(apply(state, 'pin', { messageId: 'm2' }).pins).toEqual(['m2', 'm3'])
    const unpinned = applyChange(pinned, change(12, 'unpin', { messageId: 'm1' }))
    expect([unpinned.pins, unpinned.messages[0]]).toEqual([['m2', 'm3'], message(1)])
  })

  test('adds and removes reactions of its author', () => {
    const reacted = apply(stateOf([message(1)]), 'react', { messageId: 'm1', emoji: '🎉' })
    expect(reacted.messages[0]?.reactions).toEqual([{ emoji: '🎉', userIds: ['bob'] }])
    const removed = applyChange(reacted, change(12, 'unreact', { messageId: 'm1', emoji: '🎉' }))
    expect(removed.messages[0]).toEqual(message(1))
  })
})

const EMPTY_AT_10 = { ...EMPTY, seq: 10 }

describe('reactions', () => {
  const reactions = [
    { emoji: 'a', userIds: ['ada'] },
    { emoji: 'c', userIds: ['ada', 'bob'] },
  ]

  test('are sorted by emoji, with each user once, in the order of arrival', () => {
    expect(withReaction(reactions, 'b', 'bob').map(({ emoji }) => emoji)).toEqual(['a', 'b', 'c'])
    expect(withReaction(reactions, 'a', 'bob')[0]).toEqual({ emoji: 'a', userIds: ['ada', 'bob'] })
    expect(withReaction(reactions, 'a', 'ada')).toBe(reactions)
  })

  test('disappear when their last user removes them', () => {
    expect(withoutReaction(reactions, 'a', 'ada')).toEqual([reactions[1]])
    expect(withoutReaction(reactions, 'c', 'ada')[1]).toEqual({ emoji: 'c', userIds: ['bob'] })
    expect(withoutReaction(reactions, 'a', 'bob')).toEqual(reactions)
  })
})

describe('the hash of a state', () => {
  test('depends on every value, and not on the order of fields', () => {
    const state = stateOf([message(1)])
    const reversed = Object.fromEntries(Object.entries(state).toReversed()) as unknown as ChannelState
    expect(stateHash(reversed)).toBe(stateHash(state))
    expect(stateHash(state)).toMatch(/^[0-9a-f]{16}$/)
    expect(stateHash({ ...state, seq: 11 })).not.toBe(stateHash(state))
    expect(stateHash(stateOf([message(1, { body: 'message 2' })]))).not.toBe(stateHash(state))
    const undefinedField = { ...state, extra: undefined } as ChannelState
    expect(stateHash(undefinedField)).toBe(stateHash(state))
  })

  test('is FNV-1a of the JSON with sorted fields, so that clients of other versions get the same', () => {
    expect(stateHash(EMPTY)).toBe('9a7872bda6ae7970')
  })
})
