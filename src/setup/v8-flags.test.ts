import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const FLAGS = fileURLToPath(new URL('v8-flags.ts', import.meta.url))

/** Allocates 1 GB of buffers that are dropped at once, beside a heap of many objects, as uploads do in a server. */
const UPLOADS = `
  const heap = Array.from({ length: 300_000 }, (_, at) => ({ at, text: 'x' + at }))
  let collections = 0
  const { constants, PerformanceObserver } = require('node:perf_hooks')
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections += 1
  }).observe({ entryTypes: ['gc'] })
  async function upload() {
    for (let turn = 0; turn < 256; turn += 1) {
      for (let chunk = 0; chunk < 8; chunk += 1) new ArrayBuffer(512 * 1024)
      await new Promise(setImmediate)
    }
    await new Promise((done) => setTimeout(done, 20))
    console.log(JSON.stringify({ collections, kept: heap.length, megabytes: process.resourceUsage().maxRSS / 1024 }))
  }
  upload()
`

async function afterUploads(...parameters: string[]) {
  const flags = ['--max-semi-space-size=32', ...parameters, '-e', UPLOADS]
  const env = { ...process.env, MALLOC_MMAP_THRESHOLD_: '131072', NODE_OPTIONS: '' }
  const { stdout } = await promisify(execFile)(process.execPath, flags, { env })
  return JSON.parse(stdout) as { collections: number; megabytes: number }
}

test('buffers of uploads do not make V8 collect the whole heap over and over', async () => {
  const [without, withFlags] = await Promise.all([afterUploads(), afterUploads('--import', FLAGS)])
  expect(without.collections).toBeGreaterThan(4)
  expect(withFlags.collections).toBeLessThanOrEqual(2)
  expect(withFlags.megabytes).toBeLessThan(without.megabytes + 100)
})
