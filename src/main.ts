import { ConfigError, loadConfig } from './config.ts'
import { createLog } from './core/log.ts'
import { startNode } from './node.ts'

/** A shutdown that hangs is ended here; by then everything that must survive is committed. */
const LAST_RESORT_MS = 9_500

async function main(): Promise<void> {
  const config = loadConfig()
  const log = createLog({ level: config.LOG_LEVEL })
  const node = await startNode(config, log)
  let stopping = false
  const stop = (signal: string) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'shutting down')
    setTimeout(() => process.exit(1), LAST_RESORT_MS).unref()
    void node.stop().then(() => {
      log.info('closed')
      process.exit(0)
    })
  }
  process.once('SIGTERM', () => stop('SIGTERM'))
  process.once('SIGINT', () => stop('SIGINT'))
  process.stdout.write(`${banner(node.facts)}\ncrier ready\n`)
}

function banner(facts: readonly (readonly [string, string])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length))
  return facts.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join('\n')
}

try {
  await main()
} catch (error) {
  const known = error instanceof ConfigError
  process.stderr.write(`crier cannot start: ${known ? error.message : ((error as Error).stack ?? String(error))}\n`)
  process.exit(1)
}
