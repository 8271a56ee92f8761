import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { START_MS } from '../support/crier-process.ts'
import { waitFor } from '../support/wait.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('SIGTERM to `npm start` stops the server too', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'crier-npm-'))
  const ports = { PORT: String(await freeLoopbackPort()), RTMP_PORT: String(await freeLoopbackPort()), ADMIN_PORT: '0' }
  const npm = spawn('npm', ['start'], { cwd: ROOT, env: { ...process.env, ...ports, DATA_DIR: folder } })
  let output = ''
  npm.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()))
  const ended = once(npm, 'exit')
  await waitFor(() => output.includes('crier ready'), { timeoutMs: START_MS, what: 'crier to be ready' })
  npm.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  await expect(fetch(`http://127.0.0.1:${ports.PORT}/api/health`)).rejects.toThrow('fetch failed')
  await rm(folder, { recursive: true, force: true })
})
