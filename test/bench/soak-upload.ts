import { mkdtemp, rm } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mp4Head } from '../support/mp4.ts'
import { transfer, type Transfer } from '../support/transfer.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { residentBytes, start } from './support/process.ts'

/**
 * Sends a file of SOAK_MB (2,048 when absent) through a signed upload and reads it back. Prints the peak memory of the
 * server process (VmHWM of Linux, without ffmpeg and PostgreSQL, which have their own processes) and the delay of other
 * requests meanwhile. Exits with 1 when the process used more than 300 MB.
 */

const MAX_MB = 300
const MIB = 1_048_576
const media = Number(process.env['SOAK_MB'] ?? 2_048) * MIB
const folder = await mkdtemp(join(tmpdir(), 'crier-soak-'))
const port = await freeLoopbackPort()
const admin = { ADMIN_EMAIL: 'soak@example.com', ADMIN_PASSWORD: 'a long password for a soak' }
const server = await start(['test/bench/soak-server.ts'], /crier ready/, {
  ...admin,
  PORT: String(port),
  RTMP_PORT: String(await freeLoopbackPort()),
  ADMIN_PORT: '0',
  ROLES: 'api,jobs,media',
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

/** Sends other requests meanwhile. @returns the sorted response times in milliseconds */
async function meanwhile(work: Promise<unknown>): Promise<number[]> {
  const waited: number[] = []
  const end = new AbortController()
  const ended = work.finally(() => end.abort())
  while (!end.signal.aborted) {
    const asked = performance.now()
    await (await fetch(`${url}/api/health`)).arrayBuffer()
    waited.push(performance.now() - asked)
  }
  await ended
  return waited.sort((a, b) => a - b)
}

async function measured(name: string, order: Transfer): Promise<{ status: number; bytes: number }> {
  const began = performance.now()
  const transferred = transfer(order)
  const waited = await meanwhile(transferred)
  const seconds = (performance.now() - began) / 1000
  const at = (share: number) => (waited[Math.floor(waited.length * share)] ?? 0).toFixed(0)
  const rate = (size / MIB / seconds).toFixed(0)
  const found = await transferred
  console.log(
    `${name}: ${found.status}, ${size} bytes in ${seconds.toFixed(1)} s (${rate} MiB/s); other requests: ${waited.length}, median ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${(waited.at(-1) ?? 0).toFixed(0)} ms; process: ${Math.round(residentBytes(server.pid) / MIB)} MB, at most ${peak()} MB`,
  )
  return found
}

const head = mp4Head(media)
const size = head.length + media
try {
  const { accessToken: token } = await call('/api/auth/login', {
    email: admin.ADMIN_EMAIL,
    password: admin.ADMIN_PASSWORD,
  })
  const { _id: workspaceId } = await call('/api/workspaces', { name: 'Soak', timezone: 'UTC' }, token)
  console.log(`before: ${Math.round(residentBytes(server.pid) / MIB)} MB (${peak()} MB while it started)`)
  const asked = { workspaceId, name: 'soak.mp4', type: 'video/mp4', size }
  const opened = await call('/api/assets/signed-upload', asked, token)
  await measured('upload', { method: 'PUT', url: opened['url'] ?? '', head: head.toString('hex'), size })
  const asset = await call(`/api/assets/signed-upload/${opened['uploadId']}/confirm`, {}, token)
  const read = await measured('download', { method: 'GET', url: url + asset['signedUrl'] })
  if (read.bytes !== size || peak() > MAX_MB) process.exitCode = 1
} finally {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
}
