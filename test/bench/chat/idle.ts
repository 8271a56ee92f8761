import { residentBytes } from '../support/process.ts'
import { ask, makeWorkspace, withSetup } from './setup.ts'
import { liveBytes } from '../support/live-bytes.ts'

export interface IdleBench {
  readonly databaseUrl: string
  readonly folder: string
  /** Idle sockets whose memory is measured, each of a different user. */
  readonly idle: number
}

/** Members per workspace. */
const WORKSPACE = 100
/** Sockets opened before the measurement, so that code is compiled and buffers have grown. */
const WARM_SOCKETS = 200
/** Presence is announced with a delay. */
const SETTLE_MS = 2_000

/** Measures the memory of idle, authenticated sockets, and prints a Markdown table. */
export async function benchIdle({ databaseUrl, folder, idle }: IdleBench): Promise<void> {
  await withSetup(databaseUrl, folder, async (setup) => {
    const tokens: string[] = []
    while (tokens.length < idle + WARM_SOCKETS) {
      const members = Math.min(WORKSPACE, idle + WARM_SOCKETS - tokens.length)
      tokens.push(...(await makeWorkspace(setup, `idle-${tokens.length}`, members)).keys)
    }
    const open = async (some: readonly string[]) => {
      await ask(setup.load, { kind: 'open', side: 'idle', port: setup.port, isSocketIo: true, tokens: some })
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
      const { code, data } = await liveBytes(setup.inspector)
      const live = code + data
      return { live, resident: residentBytes(setup.crier.pid) }
    }
    const before = await open(tokens.slice(0, WARM_SOCKETS))
    const after = await open(tokens.slice(WARM_SOCKETS))
    const each = (key: 'live' | 'resident') => ((after[key] - before[key]) / idle / 1024).toFixed(1)
    console.log(
      `\n| memory per socket of ${idle} idle sockets, after a garbage collection | KB | target |\n|---|---|---|`,
    )
    console.log(`| growth of resident memory | **${each('resident')}** | ≤ 30 |`)
    console.log(`| growth of live objects and buffers on the heap | ${each('live')} | |`)
    const mega = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`
    console.log(
      `\nResident memory: ${mega(before.resident)} with ${WARM_SOCKETS} sockets, ${mega(after.resident)} with ${tokens.length}.`,
    )
  })
}
