import { loadConfig } from '../../src/config.ts'
import { createLog } from '../../src/core/log.ts'
import { startNode } from '../../src/node.ts'

/** A node whose users are on the largest plan. */

const config = loadConfig()
const node = await startNode(config, createLog({ level: 'warn' }))
await node.foundation.database.run(`update subscriptions set plan = 'business'`)
process.once('SIGTERM', () => void node.stop().then(() => process.exit(0)))
console.log('crier ready')
