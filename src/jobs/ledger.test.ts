import type { ClientBase } from 'pg'
import { expect, test } from 'vitest'
import { systemClock } from '../core/clock.ts'
import type { Database } from '../db/database.ts'
import { waitFor } from '../../test/support/wait.ts'
import { Ledger } from './ledger.ts'

test('writes one batch at a time, and adds requests that arrive during a write to the next batch', async () => {
  const rounds: PromiseWithResolvers<void>[] = []
  const database = {
    withClient: async () => {
      const round = Promise.withResolvers<void>()
      rounds.push(round)
      await round.promise
      throw new Error('the database is away')
    },
    inOnePiece: async (_client: ClientBase, work: () => Promise<unknown>) => work(),
  } as unknown as Database
  const ledger = new Ledger(database, systemClock)
  const start = async (attemptId: string) => expect(ledger.start({ id: 'job', attemptId })).rejects.toThrow('away')

  const first = start('a')
  await waitFor(() => rounds.length === 1)
  const later = [start('b'), start('c')]
  await new Promise<void>((resolve) => {
    setImmediate(() => setImmediate(resolve))
  })
  expect(rounds).toHaveLength(1)
  rounds[0]?.resolve()
  await first
  await waitFor(() => rounds.length === 2)
  rounds[1]?.resolve()
  await Promise.all(later)
  expect(rounds).toHaveLength(2)
})
