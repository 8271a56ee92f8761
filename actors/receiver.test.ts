import { expect, it } from 'vitest'
import { OpenCalls, type Call } from './calls.ts'
import { systemClock } from './clock.ts'
import type { Reply, Request } from './links/frames.ts'
import { jsonCodec } from './ports.ts'
import { Receiver } from './receiver.ts'
import { RefusedError } from './types.ts'

/** A receiver. The test itself runs its commands. */
function start(limit = 10) {
  const clock = systemClock()
  const routed: Call[] = []
  const replies: Reply[] = []
  const receiver = new Receiver({
    clock,
    codec: jsonCodec,
    calls: new OpenCalls(clock, limit),
    route: (call) => void routed.push(call),
  })
  const receive = (changes: Partial<Request> = {}) => {
    const request = { id: 1, leftMs: 5_000, control: false, repeated: false, actor: 'a', operationId: 'one' }
    receiver.handle({ ...request, caller: 'ada', payload: '"hello"', ...changes }, (reply) => void replies.push(reply))
    return routed.at(-1) as Call
  }
  return { receiver, receive, replies, routed }
}

it('runs a command of another node with its remaining time, and replies with its value', () => {
  const { receive, replies } = start()
  const before = performance.now()
  const call = receive({ control: true })
  const { command } = call
  expect(command).toMatchObject({
    actor: 'a',
    operationId: 'one',
    caller: 'ada',
    priority: 'control',
    payload: 'hello',
  })
  expect(command).not.toHaveProperty('repeated')
  expect(command.deadline - before).toBeGreaterThanOrEqual(5_000)
  expect(command.deadline - performance.now()).toBeLessThanOrEqual(5_000)
  expect(replies).toEqual([])
  call.succeed('bye')
  expect(replies).toEqual([{ kind: 'value', text: '"bye"' }])
})

it('replies to each sender of the same operation, and runs it once', () => {
  const { receive, receiver, replies, routed } = start()
  const call = receive()
  receive({ id: 2 })
  expect([routed.length, receiver.received]).toEqual([1, 2])
  call.succeed({ n: 1 })
  expect(replies).toEqual([
    { kind: 'value', text: '{"n":1}' },
    { kind: 'value', text: '{"n":1}' },
  ])
})

it('replies with an error of the command, or with the reason of a refusal', () => {
  const { receive, replies } = start()
  receive().fail(new Error('no'))
  receive({ operationId: 'two' }).fail(new RefusedError('quarantined', 3))
  expect(replies).toMatchObject([{ kind: 'error' }, { kind: 'refused', reason: 'quarantined', retryAfter: 3 }])
})

it('refuses a command at the limit of the node', () => {
  const { receive, replies, routed } = start(1)
  receive()
  receive({ operationId: 'two' })
  expect(routed).toHaveLength(1)
  expect(replies).toMatchObject([{ kind: 'refused', reason: 'overloaded' }])
})

it('replies with an error to a command that it cannot read', () => {
  const { receive, replies, routed } = start()
  receive({ payload: '{' })
  expect(routed).toEqual([])
  expect(replies).toMatchObject([{ kind: 'error' }])
})

it('reports that a command belongs elsewhere, or as unknown if it may have run it itself', () => {
  const { receive, replies } = start()
  receive().elsewhere?.()
  // The sender already knows that an earlier attempt may have taken effect.
  receive({ operationId: 'two', repeated: true }).elsewhere?.()
  const begun = receive({ operationId: 'three' })
  begun.repeat()
  begun.elsewhere?.()
  expect(replies).toEqual([{ kind: 'moved' }, { kind: 'moved' }, { kind: 'unknown' }])
})
