import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { Database } from '../../src/db/database.ts'
import { LedgerInspector } from '../../src/domains/money/ledger/inspector.ts'
import { entities } from '../../src/registry/entities.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { newPlayer, playHistory, type Tally } from './ai-histories.ts'
import { UnrulyModel } from './ai-model.ts'
import { AiNode } from './ai-node.ts'

/** AI jobs while their model misbehaves and their node is killed: no credit is lost, and none is charged for nothing. */

/** `npm run soak:ai` plays 500 histories. SEED is the first one. */
const HISTORIES = Number(process.env['HISTORIES'] ?? 6)
const SEED = Number(process.env['SEED'] ?? 1)
/** Histories that are played at once. */
const PLAYERS = Math.min(HISTORIES, Number(process.env['PLAYERS'] ?? 25))

const model = new UnrulyModel(SEED)
let database: TestDatabase
let node: AiNode

beforeAll(async () => {
  database = await createDatabase()
  node = await AiNode.start(database.url, await model.start())
})
afterAll(async () => {
  await node?.stop()
  await model.stop()
  await database?.drop()
})

test(
  'random histories with kills cost what they made and nothing else',
  async () => {
    const tally: Tally = new Map()
    let seed = SEED
    const players = await Promise.all(Array.from({ length: PLAYERS }, () => newPlayer(node)))
    model.onKill = () => node.kill()
    await Promise.all(
      players.map(async (player) => {
        while (seed < SEED + HISTORIES) await playHistory(node, player, seed++, tally)
      }),
    )
    expect(node.kills).toBeGreaterThan(0)
    const log = createLog({ level: 'silent' })
    const reader = await Database.connect({ url: database.url, poolSize: 2, entities, log })
    try {
      expect((await new LedgerInspector(reader, systemClock, log).check()).faults).toEqual([])
    } finally {
      await reader.close()
    }
    expect(tally.get('done')).toBeGreaterThan(0)
    if (HISTORIES > 10) {
      console.log(`${HISTORIES} histories, ${node.kills} nodes killed`)
      console.table(Object.fromEntries(tally))
      console.table(Object.fromEntries(model.counts))
    }
  },
  300_000 + HISTORIES * 20_000,
)
