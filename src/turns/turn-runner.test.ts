import { expect, test } from 'vitest'
import { RefusedError, type Actors, type Command } from '../../actors/index.ts'
import { ManualClock, SECOND } from '../core/clock.ts'
import { NotFound } from '../core/errors.ts'
import { systemTurn } from '../core/system-turn.ts'
import type { OperationTurn } from './payload.ts'
import { Turns } from './turn-runner.ts'

const greet = systemTurn<{ name: string }, string>({ name: 'greet', run: async ({ input }) => `Hello ${input.name}` })
const clock = new ManualClock()

/** Turns on actors that respond to every command in the same way. */
function turnsOn(answer: (command: Command) => unknown) {
  const run = async (command: Command) => answer(command)
  return new Turns({ run } as unknown as Actors, clock).system('w1', greet, { name: 'Ada' })
}

test('a system turn is a command to the actor of its workspace, with a deadline', async () => {
  const commands: Command[] = []
  await turnsOn((command) => void commands.push(command))
  expect(commands).toMatchObject([
    {
      actor: 'ws:w1',
      caller: 'system',
      priority: 'control',
      payload: { kind: 'system', name: 'greet', input: { name: 'Ada' } },
    },
  ])
  expect((commands[0]?.deadline ?? 0) - clock.monotonic()).toBe(10 * SECOND)
})

test('the turn of an operation runs after those of the system, and counts for its caller', async () => {
  const commands: Command[] = []
  const run = async (command: Command) => commands.push(command)
  const turns = new Turns({ run } as unknown as Actors, clock)
  const context = { workspaceId: 'w1', caller: { userId: 'ada' } }
  const payload = { kind: 'operation', operation: 'notes.create', audited: true, context } as unknown as OperationTurn
  await turns.operation(payload)
  expect(commands).toMatchObject([{ actor: 'ws:w1', caller: 'ada', priority: 'normal', payload }])
  const nowhere = { ...payload, context: { ...context, workspaceId: undefined } } as unknown as OperationTurn
  await expect(turns.operation(nowhere)).rejects.toThrow('the turn notes.create names no workspace')
})

test.each([
  ['expired', 'deadline_exceeded'],
  ['unknown', 'outcome_unknown'],
  ['closed', 'shutting_down'],
  ['overloaded', 'overloaded'],
  ['quarantined', 'overloaded'],
] as const)('a command that is refused as %s fails with %s, and says when to try again', async (reason, code) => {
  const refused = new RefusedError(reason, 7)
  const failed = turnsOn(() => {
    throw refused
  })
  await expect(failed).rejects.toMatchObject({ code, retryAfter: 7, cause: refused })
})

test('an error of the turn itself reaches its caller unchanged', async () => {
  const error = NotFound()
  const failed = turnsOn(() => {
    throw error
  })
  await expect(failed).rejects.toBe(error)
})
