import { expect, test } from 'vitest'
import { FencedError } from '../../actors/index.ts'
import type { Sql } from '../core/sql.ts'
import { fence } from './fence.ts'

const FIRST = { seq: undefined, batch: undefined }
const LATER = { seq: 7, batch: 'b0' }
const batch = { actor: 'ws:1', epoch: 3, id: 'b1' }
function failsWith(error: Error): Sql {
  const run = async () => {
    throw error
  }
  return { run } as unknown as Sql
}

test('the first batch of an activation reads the number of the newest event', async () => {
  const found = { row: async () => ({ seq: 7 }) } as unknown as Sql
  expect(await fence(found, batch, FIRST)).toBe(7)
  const moved = { row: async () => undefined } as unknown as Sql
  await expect(fence(moved, batch, FIRST)).rejects.toThrow(new FencedError('ws:1 has moved on from epoch 3'))
})

test('a later batch fails if the actor has another owner, and keeps every other error', async () => {
  const held = { run: async () => 1 } as unknown as Sql
  expect(await fence(held, batch, LATER)).toBe(7)
  const moved = failsWith(Object.assign(new Error('division by zero'), { code: '22012' }))
  await expect(fence(moved, batch, LATER)).rejects.toThrow(FencedError)
  const gone = Object.assign(new Error('the connection was closed'), { code: '57P01' })
  await expect(fence(failsWith(gone), batch, LATER)).rejects.toBe(gone)
})
