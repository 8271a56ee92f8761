import { settingsOf } from '../config/arguments.ts'
import { loadProcessConfig } from '../config/config.ts'
import { createLog } from '../core/log.ts'
import { removeMallocSettings } from '../setup/malloc-settings.ts'
import { stopWithinMs } from './draining.ts'
import { releaseStartMemory } from './start-memory.ts'
import { VERSION } from '../config/version.ts'

/** Delay after the start until its leftover memory is released. */
const SETTLED_MS = 1_000

async function main(): Promise<void> {
  removeMallocSettings()
  // For all files of this process and those that it starts. DATA_DIR has files of users and secrets.
  process.umask(0o077)
  const config = loadProcessConfig(settingsOf(process.argv.slice(2)))
  const pretty = config.LOG_FORMAT === undefined ? process.stderr.isTTY : config.LOG_FORMAT === 'pretty'
  const log = createLog({ level: config.LOG_LEVEL, pretty })
  // The rest of the service takes a second to load. An invalid setting is reported before that.
  const { startNode } = await import('./node.ts')
  const node = await startNode(config, log)
  let stopping = false
  const stop = (signal: string) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'shutting down')
    setTimeout(() => process.exit(1), stopWithinMs(config)).unref()
    void node.stop().then(() => {
      log.info('closed')
      process.exit(0)
    })
  }
  process.once('SIGTERM', () => stop('SIGTERM'))
  process.once('SIGINT', () => stop('SIGINT'))
  process.stdout.write(`Crier ${VERSION}\n${banner(node.facts)}\ncrier ready\n`)
  setTimeout(releaseStartMemory, SETTLED_MS).unref()
}

function banner(facts: readonly (readonly [string, string])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length))
  return facts.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join('\n')
}

/** The message of a mistake of the operator, or the stack of a bug in Crier. */
function explained(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const ours = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError
  return ours ? (error.stack ?? error.message) : error.message
}

try {
  await main()
} catch (error) {
  process.stderr.write(`crier cannot start: ${explained(error)}\n`)
  process.exit(1)
}
