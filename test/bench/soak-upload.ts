import { mkdtemp, rm } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mp4Head } from '../support/mp4.ts'
import { transfer } from '../support/transfer.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { start } from './support/process.ts'

/**
 * Sends a file of SOAK_MB (2,048 when absent) through a signed upload, reads it back, and prints the most memory that
 * the server's process ever had (VmHWM of Linux). Ends with 1 when that is over 300 MB.
 */

const MOST_MB = 300
const media = Number(process.env['SOAK_MB'] ?? 2_048) * 1_048_576
const folder = await mkdtemp(join(tmpdir(), 'crier-soak-'))
const port = await freeLoopbackPort()
const admin = { ADMIN_EMAIL: 'soak@example.com', ADMIN_PASSWORD: 'a long password for a soak' }
const server = await start(['test/bench/soak-server.ts'], /crier ready/, {
  ...admin,
  PORT: String(port),
  ADMIN_PORT: '0',
  ROLES: 'api,jobs',
  DATA_DIR: folder,
  RATE_LIMITS: '0',
})
const url = `http://localhost:${port}`

async function call(path: string, body: object, token?: string) {
  const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) }
  const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${path}: ${text}`)
  return (JSON.parse(text) as { data: Record<string, string> }).data
}

const peak = () =>
  Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024)

try {
  const { accessToken: token } = await call('/api/auth/login', {
    email: admin.ADMIN_EMAIL,
    password: admin.ADMIN_PASSWORD,
  })
  const { _id: workspaceId } = await call('/api/workspaces', { name: 'Soak', timezone: 'UTC' }, token)
  const head = mp4Head(media)
  const size = head.length + media
  console.log(`before: ${peak()} MB`)
  const opened = await call(
    '/api/assets/signed-upload',
    { workspaceId, name: 'soak.mp4', type: 'video/mp4', size },
    token,
  )
  const began = performance.now()
  const sent = await transfer({ method: 'PUT', url: opened['url'] ?? '', head: head.toString('hex'), size })
  const up = (performance.now() - began) / 1000
  console.log(`upload: ${sent.status}, ${size} bytes in ${up.toFixed(1)} s; peak ${peak()} MB`)
  const asset = await call(`/api/assets/signed-upload/${opened['uploadId']}/confirm`, {}, token)
  const headers = { Authorization: `Bearer ${token}` }
  const read = await transfer({ method: 'GET', url: url + asset['url'], headers })
  console.log(`download: ${read.status}, ${read.bytes} bytes; peak ${peak()} MB`)
  if (read.bytes !== size || peak() > MOST_MB) process.exitCode = 1
} finally {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
}
