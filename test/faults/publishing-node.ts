/**
 * A node in a separate process, for tests that kill it. Its platforms are those of `PLATFORM_SETTINGS`: a sandbox that
 * several nodes share. Parent: publishing-world.ts.
 */
import { appendFileSync } from 'node:fs'
import { loadConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/core/log.ts'
import type { JobTimes } from '../../src/jobs/runtime.ts'
import type { PlatformSettings } from '../../src/platforms/platform.ts'
import { startNode } from '../../src/server/node.ts'

const { JOB_TIMES = '{}', LOG_FILE, PLATFORM_SETTINGS = '{}', ...env } = process.env
const write = (line: string) => (LOG_FILE === undefined ? true : (appendFileSync(LOG_FILE, line), true))
const log = createLog({ level: LOG_FILE === undefined ? 'fatal' : 'info', destination: { write } })
const config = loadConfig(env)
const platforms = JSON.parse(PLATFORM_SETTINGS) as Readonly<Record<string, PlatformSettings>>
const node = await startNode({ ...config, PLATFORMS: { ...config.PLATFORMS, ...platforms } }, log, {
  jobTimes: JSON.parse(JOB_TIMES) as Partial<JobTimes>,
})

process.on('SIGTERM', () => {
  void node.stop().then(() => process.exit(0))
})
// A node does not outlive its parent.
process.on('disconnect', () => process.exit(1))
process.send?.('ready')
