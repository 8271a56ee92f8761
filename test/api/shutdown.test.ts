import { expect, test, vi } from 'vitest'
import { gate, startProbe } from '../support/probe.ts'
import { waitFor } from '../support/wait.ts'

test('a shutdown ends when the last request has its reply, long before the deadline', async () => {
  const { app } = await startProbe()
  const { open, arrivals } = gate('shutdown')
  const waiting = app.send('POST /api/probe/wait', { token: 'ada', body: { gate: 'shutdown' } })
  await waitFor(() => arrivals() === 1)
  const { setTimeout: original } = globalThis
  let deadlines = 0
  // The deadline never comes, so that only the reply can end the shutdown.
  vi.spyOn(globalThis, 'setTimeout').mockImplementation((work: () => void, ms = 0) => {
    if (!new Error('who calls').stack?.includes('HttpServer.drain')) return original(work, ms)
    deadlines += 1
    return original(() => undefined, 0)
  })
  try {
    const stopped = app.stop()
    await waitFor(() => deadlines > 0)
    open()
    expect((await waiting).status).toBe(200)
    await stopped
  } finally {
    vi.restoreAllMocks()
  }
})

test('a shutdown without requests does not wait', async () => {
  const { app } = await startProbe()
  const { setTimeout: original } = globalThis
  let deadlines = 0
  vi.spyOn(globalThis, 'setTimeout').mockImplementation((work: () => void, ms = 0) => {
    if (new Error('who calls').stack?.includes('HttpServer.drain')) deadlines += 1
    return original(work, ms)
  })
  try {
    await app.stop()
    expect(deadlines).toBe(0)
  } finally {
    vi.restoreAllMocks()
  }
})
