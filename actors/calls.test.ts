import { beforeEach, describe, expect, it } from 'vitest'
import { OpenCalls, type Call } from './calls.ts'
import { SimProcess } from './simulation/process.ts'
import { Scheduler } from './simulation/scheduler.ts'
import type { Command, RefusedError } from './types.ts'

let scheduler: Scheduler
let calls: OpenCalls
let results: unknown[]

beforeEach(() => {
  scheduler = new Scheduler()
  calls = new OpenCalls(new SimProcess('node', scheduler, 1, 0).clock, 3)
  results = []
})

function open(changes: Partial<Command> = {}): Call {
  const command = { actor: 'a', operationId: 'one', caller: 'c', deadline: 1_000, payload: null, ...changes }
  return calls.open(
    command,
    (value) => void results.push(value),
    (error) => void results.push((error as RefusedError).reason),
  ) as Call
}

describe('a call', () => {
  it('settles once, and notifies once', () => {
    let settled = 0
    for (const end of [
      (call: Call) => call.succeed('value'),
      (call: Call) => call.fail({ reason: 'error' }),
      (call: Call) => call.drop(),
    ]) {
      const call = open()
      call.whenSettled = () => (settled += 1)
      expect([call.settled, calls.size]).toEqual([false, 1])
      end(call)
      expect([call.settled, calls.size]).toEqual([true, 0])
      call.succeed('late value')
      call.fail({ reason: 'late error' })
      call.drop()
      calls.expire(call)
    }
    expect(results).toEqual(['value', 'error'])
    expect(settled).toBe(3)
    expect(calls).toMatchObject({ expired: 0, unknown: 0 })
  })

  it('keeps its command when it is repeated more than once', () => {
    const call = open()
    call.repeat()
    const { command } = call
    expect(command.repeated).toBe(true)
    call.repeat()
    expect(call.command).toBe(command)
  })
})

describe('deadlines', () => {
  it('settle a call at most 50 ms late: as expired, or as unknown if it may have run', async () => {
    open({ deadline: 100 })
    open({ deadline: 100, repeated: true })
    open({ deadline: 100 }).underWay = true
    await scheduler.run(99)
    expect(results).toEqual([])
    await scheduler.run(150)
    expect(results).toEqual(['expired', 'unknown', 'unknown'])
    expect(calls).toMatchObject({ size: 0, expired: 1, unknown: 2 })
    await scheduler.run(1_000)
    // Without calls, deadlines are not checked. The next call starts the checks again.
    expect(scheduler.waiting).toBe(0)
    open({ deadline: 1_100 })
    await scheduler.run(1_150)
    expect(results).toHaveLength(4)
  })
})

describe('the limit', () => {
  it('refuses calls over it, but never control commands', () => {
    for (let count = 0; count < 3; count += 1) open()
    expect(open()).toBeUndefined()
    expect(results).toEqual(['overloaded'])
    expect(open({ priority: 'control' })).toBeDefined()
    expect(calls).toMatchObject({ size: 4, overloaded: 1 })
  })
})

describe('the end', () => {
  it('waits until the last open call has ended', async () => {
    await calls.drained(5_000)
    const two = [open({ deadline: 60_000 }), open({ deadline: 60_000 })]
    let drained = false
    const done = calls.drained(5_000).then(() => (drained = true))
    two[0]?.succeed(1)
    await scheduler.run(100)
    expect(drained).toBe(false)
    two[1]?.succeed(2)
    await done
    await scheduler.run(200)
    expect(scheduler.waiting).toBe(0)
  })

  it('waits no longer than its limit', async () => {
    open({ deadline: 60_000 })
    let drained = false
    void calls.drained(500).then(() => (drained = true))
    await scheduler.run(499)
    expect(drained).toBe(false)
    await scheduler.run(500)
    expect(drained).toBe(true)
  })

  it('refuses calls that have not run, and reports the others as unknown', () => {
    open()
    open({ repeated: true })
    open().underWay = true
    calls.refuseAll()
    expect(results).toEqual(['closed', 'unknown', 'unknown'])
    expect(calls).toMatchObject({ size: 0, expired: 0, unknown: 2 })
  })
})
