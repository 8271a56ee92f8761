import { expect, test } from 'vitest'
import type { Outgoing } from '../../../../../fetch/outgoing.ts'
import { Rpc } from './rpc.ts'

test('a node gets at most eight calls at once, and all are answered', async () => {
  let running = 0
  let most = 0
  const outgoing = {
    send: async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise(setImmediate)
      running -= 1
      return { bytes: Buffer.from('{"result":1}') }
    },
  }
  const rpc = new Rpc('http://node.example', outgoing as unknown as Outgoing)
  const calls = Array.from({ length: 100 }, (_, index) =>
    rpc.call(index % 2 === 0 ? 'getblockcount' : 'gettransaction'),
  )
  expect(await Promise.all(calls)).toEqual(Array(100).fill(1))
  expect(most).toBe(8)
})
