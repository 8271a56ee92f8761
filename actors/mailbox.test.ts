import { expect, it } from 'vitest'
import { Call } from './calls.ts'
import { Mailbox } from './mailbox.ts'
import type { Command } from './types.ts'

function call(operationId: string, changes: Partial<Command> = {}): Call {
  const command = { actor: 'a', operationId, caller: 'ada', deadline: 1_000, payload: null, ...changes }
  const nothing = () => undefined
  return new Call(command, 0, nothing, nothing, nothing)
}

const names = (calls: readonly Call[]) => calls.map(({ command }) => command.operationId)

it('returns control commands first, and at most the requested number', () => {
  const mailbox = new Mailbox(10, 10)
  for (const one of [
    call('n1'),
    call('c1', { priority: 'control' }),
    call('n2'),
    call('c2', { priority: 'control' }),
  ]) {
    expect(mailbox.put(one)).toBe(true)
  }
  expect(mailbox.size).toBe(4)
  expect(names(mailbox.take(1))).toEqual(['c1'])
  expect(names(mailbox.take(2))).toEqual(['c2', 'n1'])
  expect(names(mailbox.take(5))).toEqual(['n2'])
  expect([mailbox.size, mailbox.take(5)]).toEqual([0, []])
})

it('limits the commands of one caller until some of them are taken, and counts control commands too', () => {
  const mailbox = new Mailbox(10, 2)
  expect(mailbox.put(call('c1', { priority: 'control' }))).toBe(true)
  expect(mailbox.put(call('n1'))).toBe(true)
  expect(mailbox.put(call('n2'))).toBe(false)
  expect(mailbox.put(call('n3', { caller: 'bob' }))).toBe(true)
  expect(mailbox.put(call('c2', { priority: 'control' }))).toBe(true)
  expect(names(mailbox.take(2))).toEqual(['c1', 'c2'])
  expect(mailbox.put(call('n4'))).toBe(true)
  expect(mailbox.put(call('n5'))).toBe(false)
  expect(names(mailbox.take(10))).toEqual(['n1', 'n3', 'n4'])
  expect([mailbox.put(call('n6')), mailbox.put(call('n7')), mailbox.put(call('n8'))]).toEqual([true, true, false])
})

it('limits all commands except control commands', () => {
  const mailbox = new Mailbox(2, 10)
  expect([call('1'), call('2'), call('3')].map((one) => mailbox.put(one))).toEqual([true, true, false])
  expect(mailbox.put(call('c', { priority: 'control' }))).toBe(true)
  expect(mailbox.size).toBe(3)
})
