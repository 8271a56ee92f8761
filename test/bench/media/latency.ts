import { Agent, get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly requests: number
}

const EVERY_MS = 5

/** Requests at a steady pace, whether or not the ones before are answered: what waits shows. */
export async function latencyOf(url: string, seconds: number): Promise<Latency> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const times: number[] = []
  const open: Promise<void>[] = []
  const started = performance.now()
  for (let at = started; at < started + seconds * 1000; at += EVERY_MS) {
    await delay(Math.max(0, at - performance.now()))
    // From when it should have left.
    open.push(once(url, agent).then(() => void times.push(performance.now() - at)))
  }
  await Promise.all(open)
  agent.destroy()
  times.sort((a, b) => a - b)
  const part = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
  return { p50Ms: part(0.5), p99Ms: part(0.99), requests: times.length }
}

function once(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.resume().once('end', () => resolve())
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`))
    }).once('error', reject)
  })
}
