import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const SOAK = fileURLToPath(new URL('../soak/chat.ts', import.meta.url))

interface Result {
  readonly acknowledged: number
  readonly kills: number
  readonly lost: number
  readonly doubled: number
  readonly gaps: number
  readonly apart: number
}

it('runs a short chat soak: nodes are killed, clients disconnect, and every client ends with the state in the database', async () => {
  const env = { SOCKETS: '48', CHANNELS: '4', RATE: '30', SECONDS: '6', KILL_EVERY: '2' }
  const { stdout } = await promisify(execFile)(process.execPath, [SOAK], {
    env: { ...process.env, ...env },
    timeout: 240_000,
  })
  const result = JSON.parse(/^RESULT (.*)$/m.exec(stdout)?.[1] ?? '{}') as Result
  expect(result).toMatchObject({ lost: 0, doubled: 0, gaps: 0, apart: 0 })
  expect(result.acknowledged).toBeGreaterThan(20)
  expect(result.kills).toBeGreaterThan(0)
})
