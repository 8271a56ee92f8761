import { spawn } from 'node:child_process'
import { request } from 'node:http'
import { fileURLToPath } from 'node:url'

/**
 * Sends or reads files of any size in a separate process, so that its memory does not count as the server's. Prints the
 * status and the number of bytes received.
 */

const BLOCK = Buffer.alloc(1_048_576, 7)

export interface Transfer {
  readonly method: 'GET' | 'PUT'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Hexadecimal bytes sent first. */
  readonly head?: string
  /** The size of the whole body in bytes. */
  readonly size?: number
}

/** Runs a transfer. @returns the status, and the size of the reply in bytes */
export function transfer(options: Transfer): Promise<{ status: number; bytes: number }> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()))
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(output) as { status: number; bytes: number })
      else reject(new Error(`the transfer ended with ${code}`))
    })
  })
}

function run({ head = '', headers = {}, method, size = 0, url }: Transfer): void {
  const first = Buffer.from(head, 'hex')
  const sent = request(url, { method, headers: { ...headers, ...(method === 'PUT' && { 'Content-Length': size }) } })
  sent.on('response', (reply) => {
    let bytes = 0
    reply.on('data', (chunk: Buffer) => (bytes += chunk.length))
    reply.on('end', () => process.stdout.write(JSON.stringify({ status: reply.statusCode, bytes })))
  })
  let left = size - first.length
  const more = () => {
    while (left > 0) {
      const block = BLOCK.subarray(0, left)
      left -= block.length
      if (!sent.write(block)) {
        sent.once('drain', more)
        return
      }
    }
    sent.end()
  }
  if (first.length > 0) sent.write(first)
  more()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) run(JSON.parse(process.argv[2] ?? '{}') as Transfer)
