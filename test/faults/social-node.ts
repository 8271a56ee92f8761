/**
 * A node in a separate process, for tests that kill it. It uses accounts as a job does, when the parent asks for it:
 * `{ accountId, count }` → `{ accountId, errors }`, with the kind and code of each use that failed.
 */
import { loadConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/core/log.ts'
import { startNode } from '../../src/server/node.ts'
import { usesOf, type UseRequest } from './social-uses.ts'

const log = createLog({ level: 'fatal', destination: { write: () => true } })
const node = await startNode(loadConfig(process.env), log)

process.on('message', ({ accountId, count }: UseRequest) => {
  void usesOf(node.resources.database, node.composition, accountId, count).then((errors) =>
    process.send?.({ accountId, errors }),
  )
})
process.on('SIGTERM', () => {
  void node.stop().then(() => process.exit(0))
})
process.send?.('ready')
