/**
 * Sends requests to a server at a steady rate, in a separate process, so that other work of the benchmark does not count
 * as the server's delay. Started by `latency.ts` with its job as the argument; returns its figures in a message.
 */
import { Agent, get, type RequestOptions } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Latency, LoadJob } from './latency.ts'

const EVERY_MS = 5
/** Time to compile the code of both sides, and to start the process. */
const WARM_MS = 1_000

const { headers, seconds, url } = JSON.parse(process.argv[2] ?? '{}') as LoadJob
const options: RequestOptions = { agent: new Agent({ keepAlive: true, maxSockets: 64 }), headers }

function once(): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, options, (response) => {
      response.resume().once('end', () => resolve())
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`))
    }).once('error', reject)
  })
}

const times: number[] = []
const late: number[] = []
const open: Promise<void>[] = []
const started = performance.now()
// Sent whether or not earlier requests are answered, so that delays show.
for (let at = started; at < started + WARM_MS + seconds * 1000; at += EVERY_MS) {
  await delay(Math.max(0, at - performance.now()))
  const left = performance.now()
  const counts = at >= started + WARM_MS
  if (counts) late.push(left - at)
  open.push(once().then(() => void (counts && times.push(performance.now() - left))))
}
await Promise.all(open)
const part = (values: number[], share: number) =>
  values.sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
const figures: Latency = { p50Ms: part(times, 0.5), p99Ms: part(times, 0.99), lateMs: part(late, 0.99) }
process.send?.(figures)
process.disconnect()
