import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { HttpMetrics } from './metrics.ts'
import { WorkGate } from './work-gate.ts'

interface Value {
  readonly value: number
  readonly labels: Readonly<Record<string, unknown>>
  readonly metricName?: string
}

function start() {
  const registry = new Registry()
  const metrics = new HttpMetrics(registry)
  const values = async (name: string): Promise<Value[]> => {
    const all = await registry.getMetricsAsJSON()
    return all.find((one) => one.name === name)?.values ?? []
  }
  const text = () => registry.metrics()
  return { metrics, registry, text, values }
}

test('times requests by operation and status class, in cumulative buckets', async () => {
  const { metrics, text, values } = start()
  for (const seconds of [0.0005, 0.001, 0.002, 20]) metrics.observe('listNotes', 200, seconds)
  metrics.observe('listNotes', 204, 0.1)
  metrics.observe('listNotes', 404, 0.1)
  metrics.observe('getNote', 200, 0.1)
  const found = await values('crier_http_request_seconds')
  const of = (name: string, status = '2xx', op = 'listNotes') =>
    found.filter(
      ({ labels, metricName }) => metricName?.endsWith(name) && labels['status'] === status && labels['op'] === op,
    )
  const buckets = of('_bucket').map(({ labels, value }) => [labels['le'], value])
  expect(buckets.slice(0, 3)).toEqual([
    [0.001, 2],
    [0.0025, 3],
    [0.005, 3],
  ])
  expect(buckets.at(-2)).toEqual([10, 4])
  expect(buckets.at(-1)).toEqual(['+Inf', 5])
  expect([of('_count')[0]?.value, of('_sum')[0]?.value]).toEqual([5, expect.closeTo(20.1035)])
  expect([of('_count', '4xx')[0]?.value, of('_count', '2xx', 'getNote')[0]?.value]).toEqual([1, 1])
  expect(await text()).toContain('crier_http_request_seconds_count{op="listNotes",status="2xx"} 5')
})

test('starts again from zero after a reset', async () => {
  const { metrics, registry, values } = start()
  metrics.observe('listNotes', 200, 0.1)
  registry.resetMetrics()
  expect(await values('crier_http_request_seconds')).toEqual([])
})

test('reads gauges when the metrics are requested', async () => {
  const { metrics, values } = start()
  const read = async (name: string) => (await values(name))[0]?.value
  const names = ['crier_http_in_flight', 'crier_http_bodies_pending', 'crier_http_replies_pending']
  expect(await Promise.all(names.map(read))).toEqual([0, 0, 0])
  metrics.inFlight = () => 1
  metrics.bodies = () => 2
  metrics.replies = () => 3
  expect(await Promise.all(names.map(read))).toEqual([1, 2, 3])
})

test('a gate admits a number of requests, and further ones after these have ended', () => {
  const gate = new WorkGate(2)
  expect([gate.enter(), gate.isFull, gate.enter(), gate.isFull, gate.enter()]).toEqual([true, false, true, true, false])
  expect(gate.count).toBe(2)
  gate.leave()
  expect([gate.count, gate.isFull, gate.enter()]).toEqual([1, false, true])
})
