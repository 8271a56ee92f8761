import '../../src/setup/v8-flags.ts'
import { loadConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/core/log.ts'
import { startNode } from '../../src/server/node.ts'
import { releaseStartMemory } from '../../src/server/start-memory.ts'

/** A node like that of `main.ts`, with all users on the largest plan. */

const config = loadConfig(process.env)
const node = await startNode(config, createLog({ level: 'warn' }))
await node.resources.database.run(`update subscriptions set plan = 'business'`)
process.once('SIGTERM', () => void node.stop().then(() => process.exit(0)))
releaseStartMemory()
console.log('crier ready')
