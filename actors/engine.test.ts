import { describe, expect, it } from 'vitest'
import { OpenCalls, type Call } from './calls.ts'
import { systemClock } from './clock.ts'
import { Engine } from './engine.ts'
import { LocalActors, UnknownOutcomeError, type ActorHost, type Command, type Outcome } from './index.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { placeOf } from './placement.ts'
import type { NodeEntry, RuntimeClock } from './ports.ts'

type Script = (epoch: number, commands: readonly Command[], call: number) => Promise<readonly Outcome[]>

/** Time that goes on to the next timer whenever nothing else is left to do. */
function hurriedClock(): RuntimeClock & { stop(): void } {
  const timers = new Set<{ at: number; action: () => void }>()
  let now = 0
  let pending: NodeJS.Immediate
  const step = () => {
    const [next] = [...timers].toSorted((a, b) => a.at - b.at)
    if (next !== undefined) {
      timers.delete(next)
      now = next.at
      next.action()
    }
    pending = setImmediate(step)
  }
  pending = setImmediate(step)
  return {
    monotonic: () => now,
    soon: (action) => void setImmediate(action),
    after: (ms, action) => {
      const timer = { at: now + ms, action }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    stop: () => clearImmediate(pending),
  }
}

function start(execute: Script, remembersOutcomes: boolean, stallMs = 5_000) {
  const batches: { epoch: number; repeated: boolean[] }[] = []
  let epoch = 0
  const host: ActorHost = {
    remembersOutcomes,
    activate: async () => (epoch += 1),
    execute: (_actor, current, commands) => {
      batches.push({ epoch: current, repeated: commands.map((command) => command.repeated === true) })
      return execute(current, commands, batches.length)
    },
  }
  const actors = new LocalActors({ host, monotonic: () => performance.now(), limits: { stallMs } })
  const run = (name: string, withinMs = 5_000) =>
    actors.run({ actor: 'a', operationId: name, caller: 'c', deadline: performance.now() + withinMs, payload: name })
  return { actors, run, batches }
}

const done: Script = async (_epoch, commands) => commands.map(({ payload }) => ({ ok: true, value: payload }))
const never = new Promise<never>(() => undefined)

describe('commands that wait while a batch commits', () => {
  it('are passed to the host before the replies of that batch are sent', async () => {
    const order: string[] = []
    let finish: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    let entered: () => void = () => undefined
    const isUnderWay = new Promise<void>((resolve) => {
      entered = resolve
    })
    const { run } = start(async (epoch, commands, call) => {
      order.push(`batch ${call}`)
      entered()
      if (call === 1) await gate
      return done(epoch, commands, call)
    }, false)
    const noted = async (name: string) => {
      await run(name)
      order.push(`reply ${name}`)
    }
    const first = noted('one')
    await isUnderWay
    const second = noted('two')
    finish()
    await Promise.all([first, second])
    expect(order).toEqual(['batch 1', 'batch 2', 'reply one', 'reply two'])
  })
})

describe('an unknown outcome', () => {
  it('is looked up when the host remembers outcomes', async () => {
    const { run, batches } = start(
      (epoch, commands, call) =>
        call === 1 ? Promise.reject(new UnknownOutcomeError(new Error('gone'))) : done(epoch, commands, call),
      true,
    )
    expect(await Promise.all([run('one'), run('two')])).toEqual(['one', 'two'])
    expect(batches.map(({ repeated }) => repeated)).toEqual([[false, false], [true], [true]])
  })

  it('is looked up after pauses that double, up to half a second', async () => {
    const clock = hurriedClock()
    const times: number[] = []
    const host: ActorHost = {
      remembersOutcomes: true,
      activate: async () => 1,
      execute: async (_actor, epoch, commands) => {
        times.push(clock.monotonic())
        if (times.length <= 7) throw new UnknownOutcomeError(new Error('gone'))
        return done(epoch, commands, times.length)
      },
    }
    const actors = new LocalActors({ host, clock, monotonic: () => clock.monotonic() })
    await actors.run({ actor: 'a', operationId: 'one', caller: 'c', deadline: 60_000, payload: 'one' })
    clock.stop()
    expect(times.slice(1).map((time, index) => time - (times[index] ?? 0))).toEqual([50, 100, 200, 400, 500, 500, 500])
  })

  it('is reported to the caller when the host does not remember outcomes', async () => {
    const { run, batches } = start(() => Promise.reject(new UnknownOutcomeError(new Error('who knows'))), false)
    await expect(run('one')).rejects.toThrow('who knows')
    expect(batches).toHaveLength(1)
  })

  it('is looked up until the deadline while the host is unavailable', async () => {
    const { run } = start(() => Promise.reject(new UnknownOutcomeError(new Error('gone'))), true)
    await expect(run('one', 300)).rejects.toMatchObject({ reason: 'unknown' })
  })
})

describe('a transaction that hangs', () => {
  it('does not delay callers past the deadline', async () => {
    const { run } = start(() => never, false)
    // Without the deadline this would never end.
    await expect(run('one', 200)).rejects.toMatchObject({ reason: 'unknown' })
  })

  it('is abandoned: its outcomes are looked up, and others run under a new epoch', async () => {
    const { run, batches } = start(
      (epoch, commands, call) => (call === 1 ? never : done(epoch, commands, call)),
      true,
      50,
    )
    const hung = run('hung')
    const later = run('later')
    expect(await Promise.all([hung, later])).toEqual(['hung', 'later'])
    expect(batches[0]).toEqual({ epoch: 1, repeated: [false, false] })
    expect(batches.slice(1).flatMap(({ repeated }) => repeated)).toEqual([true, true])
    expect(batches.at(-1)?.epoch).toBe(2)
  })

  it('still answers when it ends late and outcomes cannot be looked up', async () => {
    let finish: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    const { run } = start(
      async (epoch, commands, call) => {
        if (call === 1) await gate
        return done(epoch, commands, call)
      },
      false,
      50,
    )
    const slow = run('slow')
    await new Promise((resolve) => void setTimeout(resolve, 200))
    expect(await run('other')).toBe('other')
    finish()
    expect(await slow).toBe('slow')
  })
})

describe('a transaction that hangs and then fails', () => {
  it('is reported with its own error when outcomes cannot be looked up', async () => {
    const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { run } = start(
      async (epoch, commands, call) => {
        if (call > 1) return done(epoch, commands, call)
        entered.resolve()
        await gate.promise
        throw new Error('the disk is full')
      },
      false,
      50,
    )
    const slow = run('slow')
    await entered.promise
    // Waits behind it until it is abandoned.
    expect(await run('other')).toBe('other')
    gate.resolve()
    await expect(slow).rejects.toThrow('the disk is full')
  })
})

describe('a process that may not act', () => {
  it('activates no actor, and gives its commands back', async () => {
    const clock = systemClock()
    const calls = new OpenCalls(clock, 10)
    const activated: string[] = []
    const givenBack = Promise.withResolvers<Call>()
    const engine = new Engine({
      host: {
        activate: async (actor) => activated.push(actor),
        execute: async () => [],
      },
      clock,
      limits: DEFAULT_LIMITS,
      calls,
      onError: () => undefined,
      mayAct: () => false,
      confirm: async () => true,
      reroute: givenBack.resolve,
      onForgotten: () => undefined,
    })
    const command = { actor: 'a', operationId: 'one', caller: 'c', deadline: Infinity, payload: 'one' }
    const call = calls.open(
      command,
      () => undefined,
      () => undefined,
    ) as Call
    engine.submit(call)
    expect(await givenBack.promise).toBe(call)
    expect(activated).toEqual([])
    expect(engine.has('a')).toBe(false)
    call.drop()
    engine.close()
  })
})

describe('placement', () => {
  const nodes = (...addresses: string[]): NodeEntry[] =>
    addresses.map((address) => ({ inc: `inc ${address}`, address, state: 'active' }))
  const actors = Array.from({ length: 3_000 }, (_, index) => `ws:${index}`)

  it('is even, and moves only the share of a joining node', () => {
    const [two, three] = [nodes('a:1', 'b:1'), nodes('a:1', 'b:1', 'c:1')]
    const counts = new Map<string, number>()
    let moved = 0
    for (const actor of actors) {
      const [before, after] = [placeOf(actor, two)?.address, placeOf(actor, three)?.address]
      counts.set(after ?? '', (counts.get(after ?? '') ?? 0) + 1)
      if (before !== after) {
        moved += 1
        expect(after).toBe('c:1')
      }
    }
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(120)
    expect(moved).toBe(counts.get('c:1'))
  })

  it('uses impaired nodes only when there are no others, and leaving nodes never', () => {
    const [a, b] = nodes('a:1', 'b:1') as [NodeEntry, NodeEntry]
    const impaired = { ...a, state: 'impaired' as const }
    for (const actor of actors.slice(0, 20)) expect(placeOf(actor, [impaired, b])).toBe(b)
    expect(placeOf('x', [impaired, { ...b, state: 'leaving' }])).toBe(impaired)
    expect(placeOf('x', [{ ...b, state: 'leaving' }])).toBeUndefined()
  })
})
